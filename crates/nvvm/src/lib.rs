//! Safe access to libnvvm, NVIDIA's compiler from NVVM IR to PTX
