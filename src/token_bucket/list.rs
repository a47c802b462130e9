//! The array of buckets that `attemptAll()` and `attemptEach()` take.

use super::bucket::Bucket;
use super::question::Question;
use ext_php_rs::types::ZendHashTable;
use gcra::batch::Few;
use zend::{Kept, Number, Object, Thrown, Zval, throw, value};

/// Returns the elements of the array. `number` is the number of tokens of an element that does not
/// contain one.
///
/// # Errors
/// Throws `ValueError` for an empty array, and `TypeError` for an invalid element.
pub fn elements(list: &ZendHashTable, number: Number) -> Result<Few<Element>, Thrown> {
    if list.is_empty() {
        return Err(throw::argument_value(1, "must not be empty"));
    }
    let mut elements = Few::new();
    for (key, element) in value::entries(list) {
        elements.push(Element::of(key, element, number)?);
    }
    Ok(elements)
}

/// Derives the question of each element. This may run PHP code, which may change the array.
///
/// # Errors
/// Fails as [`Question::of`] does.
pub fn questions(elements: &[Element]) -> Result<Few<Question<'_>>, Thrown> {
    let mut questions = Few::new();
    for element in elements {
        questions.push(element.question()?);
    }
    Ok(questions)
}

/// An element of the array: a bucket, or a list of a bucket and its tokens.
pub struct Element {
    /// The key of the element in the array.
    pub key: Zval,
    /// The bucket. It is held, because PHP code that runs during the call may overwrite an element
    /// that is a PHP reference.
    bucket: Kept,
    number: Number,
    /// The number of the argument that contains `number`.
    argument: u32,
}

impl Element {
    /// Reads an element. `number` is the number of tokens if the element does not contain one.
    fn of(key: Zval, element: &Zval, number: Number) -> Result<Self, Thrown> {
        let wrong = || {
            throw::argument_type(
                1,
                "must contain only TokenBucket objects, or lists of a TokenBucket object and a \
                 number of tokens",
            )
        };
        let (bucket, own) = match element.array() {
            None => (element, None),
            Some(pair) => {
                let at = |index| pair.get_index(index).map(value::dereference);
                let (bucket, own) = at(0)
                    .zip(at(1))
                    .filter(|_| pair.len() == 2)
                    .ok_or_else(wrong)?;
                (bucket, Some(value::as_number(own).ok_or_else(wrong)?))
            }
        };
        value::object(bucket)
            .and_then(Object::<Bucket>::of)
            .ok_or_else(wrong)?;
        Ok(Self {
            key,
            bucket: bucket.shallow_clone().into(),
            number: own.unwrap_or(number),
            argument: if own.is_some() { 1 } else { 2 },
        })
    }

    fn question(&self) -> Result<Question<'_>, Thrown> {
        let bucket = value::object(&self.bucket).and_then(Object::<Bucket>::of);
        Question::of(bucket.ok_or(Thrown)?, self.number, self.argument)
    }
}
