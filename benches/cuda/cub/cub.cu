// CUB's scan and reduction of the whole device, for the suite to call: a library, as CUB launches
// several kernels by itself. Both return a CUDA error.

#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>

// With `room` null, `bytes` becomes the size of the memory that is needed.
extern "C" int cub_scan(const unsigned* from, unsigned* to, size_t n, void* room, size_t* bytes,
                        cudaStream_t stream) {
    return cub::DeviceScan::ExclusiveSum(room, *bytes, from, to, n, stream);
}

extern "C" int cub_reduce(const float* from, float* to, size_t n, void* room, size_t* bytes,
                          cudaStream_t stream) {
    return cub::DeviceReduce::Sum(room, *bytes, from, to, n, stream);
}
