//! Random orders.

use rand::RngExt;
use rand_pcg::Pcg64Mcg;

/// Puts the items into a random order, all orders alike.
///
/// Fisher and Yates' shuffle, spelt out so that the order depends on this project alone.
pub fn shuffle<T>(items: &mut [T], generator: &mut Pcg64Mcg) {
    for last in (1..items.len()).rev() {
        items.swap(last, generator.random_range(0..=last as u32) as usize);
    }
}
