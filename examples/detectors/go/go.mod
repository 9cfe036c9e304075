module example.com/custom-avx512

go 1.22
