//! Timed coloured Petri nets.
