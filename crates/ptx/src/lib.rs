//! Reads and writes PTX, and removes its dead functions
