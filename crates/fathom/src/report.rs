//! Values in, strings out.
