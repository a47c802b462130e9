//! The array of buckets that `attemptAll()` and `attemptEach()` take.

use super::bucket::Bucket;
use super::question::Question;
use ext_php_rs::types::ZendHashTable;
use gcra::Few;
use zend::{Kept, Number, Object, Thrown, Zval, throw, value};

/// Returns the elements of the array. Throws `ValueError` for an empty array, and `TypeError` for
/// an invalid element.
pub fn elements(list: &ZendHashTable) -> Result<Few<Element>, Thrown> {
    if list.is_empty() {
        return Err(throw::argument_value(1, "must not be empty"));
    }
    let mut elements = Few::new();
    for (key, element) in value::entries(list) {
        elements.push(Element::of(key, element)?);
    }
    Ok(elements)
}

/// Derives the question of each element of the array, as the last item of `questions`. The
/// questions are not moved afterwards, because that takes as long as deriving them. `method` is the
/// method that takes the array. `number` is the number of tokens of an element that does not
/// contain one. This may run PHP code, which may change the array.
pub fn derive_questions<'a>(
    questions: &mut Few<Question<'a>>,
    elements: &'a [Element],
    number: Number,
    method: &str,
) -> Result<(), Thrown> {
    for element in elements {
        questions.push(element.question(number)?);
        if let Some(floor) = element.floor
            && let Some(question) = questions.last_mut()
        {
            question.leave(floor, 1, method)?;
        }
    }
    Ok(())
}

/// An element of the array: a bucket, or a list of a bucket, its tokens and possibly its floor.
pub struct Element {
    pub key: Zval,
    /// The bucket. It is kept alive, because PHP code that runs during the call may overwrite an
    /// element that is a PHP reference.
    bucket: Kept,
    /// The number of tokens, if the element contains one.
    number: Option<Number>,
    /// The tokens that the call leaves in the bucket, if the element contains them.
    floor: Option<Number>,
}

impl Element {
    fn of(key: Zval, element: &Zval) -> Result<Self, Thrown> {
        let wrong = || {
            throw::argument_type(
                1,
                "must contain only TokenBucket objects, or lists of a TokenBucket object, a number of \
                 tokens and possibly a floor",
            )
        };
        let (bucket, number, floor) = match element.array() {
            None => (element, None, None),
            Some(list) => {
                let at = |index| list.get_index(index).map(value::dereference);
                let number = |index| at(index).and_then(value::as_number);
                let (bucket, tokens, floor) = (at(0), number(1), number(2));
                let length = 2 + usize::from(floor.is_some());
                let whole = bucket.filter(|_| tokens.is_some() && list.len() == length);
                (whole.ok_or_else(wrong)?, tokens, floor)
            }
        };
        value::object(bucket)
            .and_then(Object::<Bucket>::of)
            .ok_or_else(wrong)?;
        Ok(Self {
            key,
            bucket: bucket.shallow_clone().into(),
            number,
            floor,
        })
    }

    /// Returns the question to the element's bucket. `number` is the argument after the array: the
    /// tokens for elements without a number of their own.
    fn question(&self, number: Number) -> Result<Question<'_>, Thrown> {
        let bucket = value::object(&self.bucket).and_then(Object::<Bucket>::of);
        let bucket = bucket.ok_or(Thrown)?;
        match self.number {
            Some(own) => Question::of(bucket, own, 1),
            None => Question::of(bucket, number, 2),
        }
    }
}
