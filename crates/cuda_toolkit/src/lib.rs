//! Finds libnvvm, libdevice and ptxas on this machine
