//! Texts by number, each kept once.

use std::collections::HashMap;
use std::rc::Rc;

/// Texts by number. Beyond a greatest number of texts, all others have the number 0.
#[derive(Debug)]
pub struct Names {
    texts: Vec<Rc<[u8]>>,
    numbers: HashMap<Rc<[u8]>, u32>,
    most: usize,
}

impl Names {
    /// Returns an empty list of at most `most` texts.
    pub fn new(most: usize) -> Self {
        Self {
            texts: vec![Rc::from(b"(others)".as_slice())],
            numbers: HashMap::new(),
            most,
        }
    }

    /// Returns the number of a text, which is 0 if no more texts are kept.
    pub fn number(&mut self, text: &[u8]) -> u32 {
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        if self.texts.len() > self.most {
            return 0;
        }
        let number = u32::try_from(self.texts.len()).unwrap_or_default();
        let text: Rc<[u8]> = text.into();
        self.texts.push(Rc::clone(&text));
        self.numbers.insert(text, number);
        number
    }

    /// Returns the text of a number, or no bytes for an unknown one.
    pub fn text(&self, number: usize) -> &[u8] {
        self.texts.get(number).map_or(&[], |text| text)
    }
}
