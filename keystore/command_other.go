//go:build !unix

package keystore

import "os/exec"

func detach(*exec.Cmd) {}
