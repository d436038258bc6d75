// main() of every unit test program: GoogleTest's, with rapidcheck's seed printed on failure by rapidcheck itself.
#include <gtest/gtest.h>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
