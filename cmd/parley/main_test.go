package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestMain lets the test binary be the program: the keeper starts it again as a worker, the tests as a service or a client.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case workerCommand, "serve", "bridge", "stdio":
			main()
		}
	}
	// The speech process is built beside the product.
	if bin, err := filepath.Abs("../../bin"); err == nil {
		_ = os.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	}
	os.Exit(m.Run())
}
