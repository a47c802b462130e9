//! The marked points of the protocol of permits, at which tests kill processes, and its variants.

use crate::slots::protocol::Production;

/// A variant of the protocol: [`Production`], or one for tests that breaks a rule on purpose or
/// kills the process at a marked point.
pub trait PermitVariant {
    /// `false` breaks the protocol on purpose: a claim becomes HELD without a check of the other
    /// slots.
    const VALIDATE: bool = true;
    /// `false` breaks the protocol on purpose: a denial reads the cells only once.
    const READ_TWICE: bool = true;
    /// `false` breaks the protocol on purpose: a release also frees the cell of another holder.
    const CHECK_OWNER: bool = true;
    /// `false` breaks the protocol on purpose: a call that leaves permits may take any cell.
    const LOWEST_CELLS: bool = true;
    /// The number of rounds after which a call is denied as contended.
    const PATIENCE: u32 = 200;

    /// Runs at each marked point. Does nothing, except in tests that kill the process there.
    #[inline]
    fn reached(_: PermitPoint) {}
}

impl PermitVariant for Production {
    #[cfg(feature = "deaths")]
    fn reached(point: PermitPoint) {
        use PermitPoint::{FreeSeen, GroupRead, Released, Releasing, Taken};
        let is_common = matches!(point, GroupRead | FreeSeen | Taken | Releasing | Released);
        crate::slots::deaths::reached(&point, is_common);
    }
}

/// The marked points of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PermitPoint {
    /// The process has drawn its number, but not locked it.
    Drawn,
    /// The process has locked its number, and has written no cell.
    Locked,
    /// The cells of one group were read, and others of the key were not.
    GroupRead,
    /// A free cell was seen, but not taken.
    FreeSeen,
    /// A slot for a cell is chosen, but not claimed.
    SlotChosen,
    /// A slot is claimed, but not validated.
    SlotClaimed,
    /// The claim is the only one for its cell, but the process does not hold the cell yet.
    SlotValidated,
    /// A cell of a dead process was found, but not taken over.
    DeadFound,
    /// A permit is taken, but the call has not returned it to its caller yet.
    Taken,
    /// All cells were held by live owners, and were not read again yet.
    AllAsked,
    /// A release was called, but nothing is written.
    Releasing,
    /// A permit is given back.
    Released,
}
