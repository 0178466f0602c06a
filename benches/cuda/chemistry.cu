// The electrons' repulsion in the Hartree–Fock method, for atoms with s-type Gaussian functions.

constexpr int GAUSSIANS = 3;
constexpr double CUTOFF = 1e-10;

__device__ __forceinline__ void pair(int number, int& i, int& j) {
    i = int(sqrt(8.0 * number + 1.0) * 0.5 - 0.5);
    while (i * (i + 1) / 2 > number) i--;
    while ((i + 1) * (i + 2) / 2 <= number) i++;
    j = number - i * (i + 1) / 2;
}

__device__ __forceinline__ double squared(const double a[3], const double b[3]) {
    double x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
    return x * x + y * y + z * z;
}

__device__ __forceinline__ double repulsion(const double* __restrict__ p,
                                            const double* __restrict__ q,
                                            const double* __restrict__ r,
                                            const double* __restrict__ s,
                                            const double* __restrict__ exponents,
                                            const double* __restrict__ coefficients) {
    double pq = squared(p, q), rs = squared(r, s);
    double sum = 0.0;
    for (int i = 0; i < GAUSSIANS; i++) {
        for (int j = 0; j < GAUSSIANS; j++) {
            double a = exponents[i] + exponents[j];
            double inverse_a = 1.0 / a;
            double ij = coefficients[i] * coefficients[j] *
                        exp(-exponents[i] * exponents[j] * inverse_a * pq) * inverse_a *
                        sqrt(inverse_a);
            if (fabs(ij) <= CUTOFF) continue;
            double centre_ij[3];
            for (int d = 0; d < 3; d++)
                centre_ij[d] = inverse_a * (exponents[i] * p[d] + exponents[j] * q[d]);
            for (int k = 0; k < GAUSSIANS; k++) {
                for (int l = 0; l < GAUSSIANS; l++) {
                    double b = exponents[k] + exponents[l];
                    double inverse_b = 1.0 / b;
                    double kl = coefficients[k] * coefficients[l] *
                                exp(-exponents[k] * exponents[l] * inverse_b * rs) * inverse_b *
                                sqrt(inverse_b);
                    if (fabs(ij * kl) <= CUTOFF) continue;
                    double centre_kl[3];
                    for (int d = 0; d < 3; d++)
                        centre_kl[d] = inverse_b * (exponents[k] * r[d] + exponents[l] * s[d]);
                    double both = a * b / (a + b);
                    double t = both * squared(centre_ij, centre_kl);
                    double boys = 1.1283791670955126;
                    if (t > 1e-12) {
                        double root = sqrt(t);
                        boys = erf(root) / root;
                    }
                    sum += ij * kl * boys * sqrt(both);
                }
            }
        }
    }
    return sum;
}

extern "C" __global__ __launch_bounds__(128)
void hartree_fock(const double* __restrict__ places, const double* __restrict__ exponents,
                  const double* __restrict__ coefficients, const double* __restrict__ bounds,
                  const double* __restrict__ densities, double* __restrict__ fock, int atoms) {
    int pairs = atoms * (atoms + 1) / 2;
    int quadruple = blockIdx.x * blockDim.x + threadIdx.x;
    if (quadruple >= pairs * (pairs + 1) / 2) return;
    int ij, kl, i, j, k, l;
    pair(quadruple, ij, kl);
    if (bounds[ij] * bounds[kl] <= CUTOFF) return;
    pair(ij, i, j);
    pair(kl, k, l);
    double value = repulsion(places + 3 * i, places + 3 * j, places + 3 * k, places + 3 * l,
                             exponents, coefficients);
    if (i == j) value *= 0.5;
    if (k == l) value *= 0.5;
    if (ij == kl) value *= 0.5;
    atomicAdd(&fock[i * atoms + j], 4.0 * value * densities[k * atoms + l]);
    atomicAdd(&fock[k * atoms + l], 4.0 * value * densities[i * atoms + j]);
    atomicAdd(&fock[i * atoms + k], -value * densities[j * atoms + l]);
    atomicAdd(&fock[i * atoms + l], -value * densities[j * atoms + k]);
    atomicAdd(&fock[j * atoms + k], -value * densities[i * atoms + l]);
    atomicAdd(&fock[j * atoms + l], -value * densities[i * atoms + k]);
}
