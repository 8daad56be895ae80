//go:build !unix

package keystore

func sessionProcess() {}
