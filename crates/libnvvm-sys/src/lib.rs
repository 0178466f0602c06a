//! Raw bindings of libnvvm, resolved at run time
