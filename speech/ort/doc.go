// Package ort is the one place where this process sets up ONNX Runtime: a single environment that every model shares.
//
// It needs cgo; without it the package is empty, so that the product builds without a C compiler.
package ort
