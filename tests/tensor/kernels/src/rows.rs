//! Rows of the table by themselves.
