//! Reads the words of a limit, with their positions in the setting.

use super::SyntaxError;

/// The rest of a limit, and its position in the setting.
pub struct Scanner<'a> {
    text: &'a str,
    pub at: usize,
}

impl<'a> Scanner<'a> {
    /// Returns a scanner of a part of the setting, which begins at the byte `at`.
    pub const fn new(text: &'a str, at: usize) -> Self {
        Self { text, at }
    }

    /// Returns the letters, digits, hyphens and underscores at the start of the rest, and skips
    /// them.
    pub fn word(&mut self) -> &'a str {
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        self.take_while(is_part)
    }

    /// Returns the text before the next comma or white space, and skips it.
    pub fn listed(&mut self) -> &'a str {
        self.take_while(|byte| byte != b',' && !byte.is_ascii_whitespace())
    }

    // The text is never split inside a character, because `is_part` first returns false for a byte
    // of ASCII or for the first byte of a character.
    fn take_while(&mut self, is_part: impl Fn(u8) -> bool) -> &'a str {
        let length = self.text.bytes().take_while(|&byte| is_part(byte)).count();
        let (word, rest) = self.text.split_at(length);
        self.text = rest;
        self.at += length;
        word
    }

    /// Reads a whole number from 1 to `most`.
    pub fn number(&mut self, most: i64, expected: &'static str) -> Result<i64, SyntaxError> {
        let word = self.word();
        let is_number = word.bytes().all(|byte| byte.is_ascii_digit());
        let number = word.parse().ok().filter(|_| is_number);
        number
            .filter(|number| (1..=most).contains(number))
            .ok_or_else(|| self.before(word, expected))
    }

    /// Skips a word, if it is the next one in upper or lower case.
    pub fn skip_word(&mut self, word: &str) -> bool {
        let mut ahead = Scanner { ..*self };
        let is_next = ahead.word().eq_ignore_ascii_case(word);
        if is_next {
            *self = ahead;
        }
        is_next
    }

    /// Skips white space, and then a word if it is the next one.
    pub fn skip_next(&mut self, word: &str) -> bool {
        !self.is_at_end() && self.skip_word(word)
    }

    pub fn skip(&mut self, token: &str) -> bool {
        let rest = self.text.strip_prefix(token);
        if let Some(rest) = rest {
            self.text = rest;
            self.at += token.len();
        }
        rest.is_some()
    }

    pub fn starts_with(&self, token: &str) -> bool {
        self.text.starts_with(token)
    }

    /// Skips white space.
    fn trim(&mut self) {
        let rest = self.text.trim_ascii_start();
        self.at += self.text.len() - rest.len();
        self.text = rest;
    }

    /// Skips white space, of which there must be some.
    pub fn blanks(&mut self, expected: &'static str) -> Result<(), SyntaxError> {
        let begin = self.at;
        self.trim();
        if self.at == begin {
            return Err(self.before("", expected));
        }
        Ok(())
    }

    /// Skips white space, and reports whether nothing else is left.
    pub fn is_at_end(&mut self) -> bool {
        self.trim();
        self.text.is_empty()
    }

    pub fn expect(&mut self, token: &str, expected: &'static str) -> Result<(), SyntaxError> {
        if self.skip(token) {
            return Ok(());
        }
        Err(self.before("", expected))
    }

    /// Returns the error that something else was expected instead of the last `word`.
    pub const fn before(&self, word: &str, expected: &'static str) -> SyntaxError {
        SyntaxError::new(self.at - word.len(), expected)
    }
}
