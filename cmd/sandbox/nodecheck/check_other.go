//go:build !linux

// Package nodecheck finds out whether this machine can have real nodes.
package nodecheck

import "errors"

// Check returns what is in the way of real nodes.
func Check(string) error {
	return errors.New("real nodes need Linux")
}
