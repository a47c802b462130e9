//! PHP's own arithmetic on values.

use super::{bailout, symbols, throw};
use ext_php_rs::types::Zval;
use std::ptr;

macro_rules! arithmetic {
    ($($name:ident => $function:ident, $what:literal;)*) => {$(
        #[doc = concat!("PHP's own `", $what, "`, warnings and all; `None` when it threw.")]
        pub fn $name(a: &Zval, b: &Zval) -> Option<Zval> {
            let mut result = Zval::new();
            let place = &raw mut result;
            let (a, b) = (ptr::from_ref(a).cast_mut(), ptr::from_ref(b).cast_mut());
            // SAFETY: both operands are live and are not changed, because the result is another
            // value.
            let status = bailout::door(|| unsafe { symbols::$function(place, a, b) });
            (status == 0 && !throw::is_pending()).then_some(result)
        }
    )*};
}

arithmetic! {
    subtract => sub_function, "-";
    multiply => mul_function, "*";
    divide => div_function, "/";
}
