// The energy of poses of a ligand at a protein: miniBUDE's kernel.

#include <cfloat>

constexpr int POSES = 4;
constexpr float HARDNESS = 38.0f, CHARGE = 45.0f, FAR = 5.5f, NEAR = 1.0f;

struct Atom {
    float x, y, z;
    unsigned kind;
};

struct Kind {
    unsigned bond;
    float radius, hydrophobic, charge;
};

extern "C" __global__ __launch_bounds__(64)
void minibude(const Atom* __restrict__ protein, int proteins, const Atom* __restrict__ ligand,
              int ligands, const Kind* __restrict__ kinds, const float* __restrict__ angles,
              const float* __restrict__ places, float* __restrict__ to, int n) {
    int first = (blockIdx.x * blockDim.x + threadIdx.x) * POSES;
    if (first + POSES > n) return;
    float transforms[POSES][3][4];
#pragma unroll
    for (int i = 0; i < POSES; i++) {
        const float* angle = angles + 3 * (first + i);
        const float* place = places + 3 * (first + i);
        float sx, cx, sy, cy, sz, cz;
        sincosf(angle[0], &sx, &cx);
        sincosf(angle[1], &sy, &cy);
        sincosf(angle[2], &sz, &cz);
        transforms[i][0][0] = cy * cz;
        transforms[i][0][1] = sx * sy * cz - cx * sz;
        transforms[i][0][2] = cx * sy * cz + sx * sz;
        transforms[i][0][3] = place[0];
        transforms[i][1][0] = cy * sz;
        transforms[i][1][1] = sx * sy * sz + cx * cz;
        transforms[i][1][2] = cx * sy * sz - sx * cz;
        transforms[i][1][3] = place[1];
        transforms[i][2][0] = -sy;
        transforms[i][2][1] = sx * cy;
        transforms[i][2][2] = cx * cy;
        transforms[i][2][3] = place[2];
    }
    float energies[POSES] = {};
    for (int l = 0; l < ligands; l++) {
        Atom atom = ligand[l];
        Kind ligand_kind = kinds[atom.kind];
        float moved[POSES][3];
#pragma unroll
        for (int i = 0; i < POSES; i++)
#pragma unroll
            for (int d = 0; d < 3; d++) {
                const float* row = transforms[i][d];
                moved[i][d] = row[3] + atom.x * row[0] + atom.y * row[1] + atom.z * row[2];
            }
        for (int p = 0; p < proteins; p++) {
            Atom other = protein[p];
            Kind kind = kinds[other.kind];
            float radius = ligand_kind.radius + kind.radius;
            float inverse_radius = 1.0f / radius;
            bool no_bond = ligand_kind.bond == 70 && kind.bond == 70;
            float charge_range = no_bond ? 4.0f : 2.0f, charge_slope = no_bond ? 0.25f : 0.5f;
            bool attracts = ligand_kind.bond == 69 || kind.bond == 69;
            float pair_charge = ligand_kind.charge * kind.charge;
            float of_protein = kind.hydrophobic, of_ligand = ligand_kind.hydrophobic;
            float pair_solvation =
                of_protein * (of_protein < 0.0f && of_ligand > 0.0f ? -1.0f : 1.0f) +
                of_ligand * (of_protein > 0.0f && of_ligand < 0.0f ? -1.0f : 1.0f);
            float range = of_protein < 0.0f ? (of_ligand < 0.0f ? FAR : NEAR)
                                            : (of_ligand < 0.0f ? NEAR : -FLT_MAX);
            float solvation_range = of_protein == 0.0f ? -FLT_MAX : range;
            float inverse_range = 1.0f / range;
#pragma unroll
            for (int i = 0; i < POSES; i++) {
                float x = moved[i][0] - other.x, y = moved[i][1] - other.y, z = moved[i][2] - other.z;
                float distance = sqrtf(x * x + y * y + z * z);
                float gap = distance - radius;
                bool inside = gap < 0.0f;
                float clash = (1.0f - distance * inverse_radius) * (inside ? 2.0f * HARDNESS : 0.0f);
                float charge = pair_charge * (inside ? 1.0f : 1.0f - gap * charge_slope) *
                               (gap < charge_range ? 1.0f : 0.0f);
                if (attracts) charge = -fabsf(charge);
                float solvation = (gap < solvation_range ? pair_solvation : 0.0f) *
                                  (inside ? 1.0f : 1.0f - gap * inverse_range);
                energies[i] += clash + charge * CHARGE + solvation;
            }
        }
    }
#pragma unroll
    for (int i = 0; i < POSES; i++) to[first + i] = 0.5f * energies[i];
}
