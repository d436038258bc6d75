#include "base/merkle.h"

#include <gtest/gtest.h>

#include "base/hex.h"

namespace weir {
namespace {

// The leaves and roots of the reference implementation of RFC 6962 (certificate-transparency, merkle_tree_test).
TEST(MerkleTest, RootsAreThoseOfTheReferenceImplementation) {
  const char* const inputs[] = {"", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"};
  const char* const roots[] = {"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
                               "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
                               "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
                               "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
                               "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
                               "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
                               "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
                               "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
                               "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"};
  std::vector<Digest> leaves;
  EXPECT_EQ(merkle_root(leaves).hex(), roots[0]);
  for (std::size_t i = 0; i < std::size(inputs); ++i) {
    const std::string_view hex = inputs[i];
    std::string data(hex.size() / 2, '\0');
    ASSERT_TRUE(decode_hex(hex, reinterpret_cast<unsigned char*>(data.data())));
    leaves.push_back(merkle_leaf(data));
    EXPECT_EQ(merkle_root(leaves).hex(), roots[i + 1]) << i + 1;
  }
}

TEST(MerkleTest, LeafIsNoNode) {
  const Digest a = merkle_leaf("a"), b = merkle_leaf("b");
  EXPECT_NE(merkle_leaf(std::string(a.bytes()) + std::string(b.bytes())), merkle_root({a, b}));
}

}  // namespace
}  // namespace weir
