//go:build !linux

package csidriver

import "errors"

func mountOnce(string, string) error { return errors.ErrUnsupported }

func unmount(string) error { return errors.ErrUnsupported }
