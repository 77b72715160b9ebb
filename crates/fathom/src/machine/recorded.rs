//! A machine that plays recorded samples back.
