//! An exact amount of tokens.
//!
//! PHP passes integers and doubles. The amount is kept as a mantissa times a power of two.
//!
//! Invariant: `mantissa` is odd or zero. So the amount is a whole number exactly if
//! `exponent >= 0`.

use std::cmp::Ordering;

/// A finite amount of tokens that is not negative, as `mantissa * 2^exponent`.
///
/// ```
/// use gcra::Tokens;
/// assert_eq!(Tokens::from_float(2.5).unwrap(), Tokens::from_float(2.50).unwrap());
/// assert!(Tokens::from_int(3).unwrap() > Tokens::from_float(2.5).unwrap());
/// assert!(Tokens::from_float(f64::NAN).is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tokens {
    mantissa: u64,
    exponent: i32,
}

/// The reason why a number is not an amount of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AmountError {
    /// NaN or an infinity.
    #[error("must be finite")]
    NotFinite,
    /// Below zero.
    #[error("must be greater than or equal to 0")]
    Negative,
}

impl Tokens {
    /// No token.
    pub const ZERO: Self = Self {
        mantissa: 0,
        exponent: 0,
    };
    pub const ONE: Self = Self {
        mantissa: 1,
        exponent: 0,
    };

    /// Converts an integer to the same amount. Fails with [`AmountError::Negative`] below zero.
    pub fn from_int(amount: i64) -> Result<Self, AmountError> {
        let mantissa = u64::try_from(amount).map_err(|_| AmountError::Negative)?;
        Ok(Self::new(mantissa, 0))
    }

    /// Converts a double to exactly the same amount. Fails with [`AmountError::NotFinite`] for NaN
    /// and infinities, and [`AmountError::Negative`] for numbers below zero.
    pub fn from_float(amount: f64) -> Result<Self, AmountError> {
        if !amount.is_finite() {
            return Err(AmountError::NotFinite);
        }
        if amount < 0.0 {
            return Err(AmountError::Negative);
        }
        // IEEE 754 binary64 has 52 bits of fraction and 11 of exponent. Subnormal numbers have the
        // biased exponent 0, which means the same power of two as 1.
        let bits = amount.abs().to_bits();
        let fraction = bits & ((1 << 52) - 1);
        let (mantissa, biased) = match bits >> 52 {
            0 => (fraction, 1),
            biased => (fraction | (1 << 52), biased),
        };
        // `biased` has 11 bits.
        #[allow(clippy::cast_possible_truncation)]
        Ok(Self::new(mantissa, biased as i32 - 1075))
    }

    fn new(mantissa: u64, exponent: i32) -> Self {
        if mantissa == 0 {
            return Self::ZERO;
        }
        let zeros = mantissa.trailing_zeros();
        Self {
            mantissa: mantissa >> zeros,
            // At most 63 is added to at most 971.
            exponent: exponent + zeros.cast_signed(),
        }
    }

    /// Reports whether the amount is zero.
    pub const fn is_zero(self) -> bool {
        self.mantissa == 0
    }

    /// Reports whether the amount is a whole number.
    pub const fn is_whole(self) -> bool {
        self.exponent >= 0
    }

    /// Returns the nearest double.
    pub fn to_float(self) -> f64 {
        match self.exponent {
            // Nearly every amount is a whole number, for which this is faster.
            0.. if self.width() <= 64 => self.floor() as f64,
            _ => self.mantissa as f64 * 2f64.powi(self.exponent),
        }
    }

    /// Returns the whole tokens in the amount, or `u64::MAX` if there are more.
    pub fn floor(self) -> u64 {
        match self.exponent {
            1.. if self.width() <= 64 => self.mantissa << self.exponent,
            1.. => u64::MAX,
            _ => self
                .mantissa
                .checked_shr(self.exponent.unsigned_abs())
                .unwrap_or(0),
        }
    }

    /// Returns `ceil(amount * factor / divisor)`, or `None` above `u64::MAX`.
    ///
    /// `divisor` must not be zero.
    pub fn scale_up(self, factor: u64, divisor: u64) -> Option<u64> {
        // For positive integers, ceil(ceil(x / 2^s) / d) = ceil(x / (2^s * d)). The same holds for
        // floor.
        let shifted = self.shifted(factor, |product, shift| match product {
            0 => 0,
            _ if shift >= u128::BITS => 1,
            _ => ((product - 1) >> shift) + 1,
        })?;
        divide_up(shifted, divisor)
    }

    /// Returns `floor(amount * factor / divisor)`, or `None` above `u64::MAX`.
    ///
    /// `divisor` must not be zero.
    pub fn scale_down(self, factor: u64, divisor: u64) -> Option<u64> {
        let down = |product: u128, shift| product.checked_shr(shift).unwrap_or(0);
        let shifted = self.shifted(factor, down)?;
        u64::try_from(shifted / u128::from(divisor)).ok()
    }

    /// Returns `amount * factor`, rounded by `shift_right` if the amount has a fraction. Returns
    /// `None` if an amount without a fraction gives more than 127 bits.
    fn shifted(self, factor: u64, shift_right: impl Fn(u128, u32) -> u128) -> Option<u128> {
        let product = u128::from(self.mantissa) * u128::from(factor);
        let shift = self.exponent.unsigned_abs();
        if self.exponent < 0 {
            Some(shift_right(product, shift))
        } else {
            shift_left(product, shift)
        }
    }

    /// Returns `ceil(numerator / amount)`, or `None` above `u64::MAX` or for a zero amount.
    pub fn divide_up(self, numerator: u64) -> Option<u64> {
        if self.is_zero() {
            None
        } else if self.exponent >= 0 {
            // For amounts above `u64::MAX`, `floor` returns `u64::MAX`. This does not change the
            // result, because either quotient is at most 1 and is rounded up.
            Some(numerator.div_ceil(self.floor()))
        } else {
            // Only doubles have a fraction, so the mantissa has at most 53 bits. If the shifted
            // numerator exceeds 127 bits, the quotient exceeds `u64::MAX`.
            let shifted = shift_left(u128::from(numerator), self.exponent.unsigned_abs())?;
            divide_up(shifted, self.mantissa)
        }
    }

    /// Returns the number of binary digits before the binary point. The number is 0 or less for
    /// amounts below one.
    fn width(self) -> i32 {
        // `leading_zeros` is at most 64.
        64 - self.mantissa.leading_zeros().cast_signed() + self.exponent
    }
}

/// Returns `value << shift`, or `None` if the result needs more than 127 bits.
fn shift_left(value: u128, shift: u32) -> Option<u128> {
    if value == 0 {
        return Some(0);
    }
    // If width + shift <= 127 bits, no bit is lost.
    ((u128::BITS - value.leading_zeros()) + shift <= 127).then(|| value << shift)
}

/// Returns `ceil(numerator / divisor)`, or `None` above `u64::MAX`.
fn divide_up(numerator: u128, divisor: u64) -> Option<u64> {
    // Uses 64-bit divisions where possible, and does not divide by 1, because divisions take most
    // of the time in which a limit is created.
    match u64::try_from(numerator) {
        Ok(numerator) if divisor == 1 => Some(numerator),
        Ok(numerator) => Some(numerator.div_ceil(divisor)),
        Err(_) => u64::try_from(numerator.div_ceil(u128::from(divisor))).ok(),
    }
}

impl PartialOrd for Tokens {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Tokens {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.mantissa, other.mantissa) {
            (0, 0) => Ordering::Equal,
            (0, _) => Ordering::Less,
            (_, 0) => Ordering::Greater,
            // If the widths are equal, the mantissas are compared after aligning their highest
            // bits.
            _ => self.width().cmp(&other.width()).then_with(|| {
                let (a, b) = (
                    self.mantissa.leading_zeros(),
                    other.mantissa.leading_zeros(),
                );
                (self.mantissa << a).cmp(&(other.mantissa << b))
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn float(amount: f64) -> Tokens {
        Tokens::from_float(amount).unwrap()
    }

    #[test]
    fn floats_and_integers_of_one_value_are_equal() {
        for n in [0i64, 1, 2, 3, 10, 1 << 52, 1 << 60] {
            assert_eq!(Tokens::from_int(n).unwrap(), float(n as f64));
        }
        assert_eq!(float(-0.0), Tokens::ZERO);
    }

    #[test]
    fn floats_keep_their_value() {
        for amount in [0.0, 5e-324, 0.1, 2.5, 3.0, 1.8e19, 3.7e19, f64::MAX] {
            assert_eq!(float(amount).to_float().to_bits(), amount.to_bits());
        }
    }

    #[test]
    fn order_is_numeric() {
        let ascending = [0.0, 5e-324, 1e-300, 0.1, 0.5, 1.0, 1.5, 2.0, 1e15, 1e300];
        for pair in ascending.windows(2) {
            assert!(float(pair[0]) < float(pair[1]), "{pair:?}");
            assert!(float(pair[1]) > float(pair[0]), "{pair:?}");
        }
        assert!(Tokens::from_int((1 << 53) + 1).unwrap() > float(9_007_199_254_740_992.0));
        assert_eq!(Tokens::ZERO.cmp(&Tokens::ZERO), Ordering::Equal);
    }

    #[test]
    fn only_amounts_without_a_fraction_are_whole() {
        for (amount, whole) in [(0.0, true), (3.0, true), (1e300, true), (2.5, false)] {
            assert_eq!(float(amount).is_whole(), whole, "{amount}");
        }
    }

    #[test]
    fn floor_drops_the_fraction() {
        assert_eq!(float(2.999).floor(), 2);
        assert_eq!(float(0.5).floor(), 0);
        assert_eq!(float(5e-324).floor(), 0);
        assert_eq!(float(1e300).floor(), u64::MAX);
        assert_eq!(Tokens::from_int(i64::MAX).unwrap().floor(), i64::MAX as u64);
    }

    #[test]
    fn scaling_rounds_up_and_never_wraps() {
        assert_eq!(float(2.5).scale_up(1000, 1), Some(2500));
        assert_eq!(
            float(0.1).scale_up(10, 1),
            Some(2),
            "0.1 is a little over a tenth"
        );
        assert_eq!(float(5e-324).scale_up(u64::MAX, 1), Some(1));
        assert_eq!(float(1e300).scale_up(1, 1), None);
        assert_eq!(Tokens::ZERO.scale_up(u64::MAX, 7), Some(0));
        assert_eq!(float(0.5).scale_up(0, 7), Some(0));
        // The product has 127 bits, which is the most.
        let great = float(18_446_744_073_709_551_616.0);
        assert_eq!(great.scale_up(1 << 62, 1 << 63), Some(1 << 63));
        assert_eq!(great.scale_up(1 << 63, u64::MAX), None);
    }

    #[test]
    fn scaling_down_drops_what_scaling_up_adds() {
        assert_eq!(float(2.5).scale_down(1000, 1), Some(2500));
        assert_eq!(float(0.1).scale_down(10, 1), Some(1));
        assert_eq!(float(3.0).scale_down(10, 4), Some(7));
        assert_eq!(float(5e-324).scale_down(u64::MAX, 1), Some(0));
        assert_eq!(float(1e300).scale_down(1, 1), None);
    }

    #[test]
    fn dividing_rounds_up_and_never_wraps() {
        assert_eq!(float(3.0).divide_up(10), Some(4));
        assert_eq!(
            float(0.001).divide_up(1_000_000_000),
            Some(1_000_000_000_000)
        );
        assert_eq!(float(1e-300).divide_up(1), None);
        assert_eq!(float(1e300).divide_up(1), Some(1));
        assert_eq!(Tokens::ZERO.divide_up(1), None);
    }
}
