//go:build linux

package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestANodeBootsInALaterSecondThanItLostItsPower(t *testing.T) {
	second := time.Date(2026, 11, 26, 2, 31, 19, 0, time.UTC)
	for _, off := range []time.Time{second, second.Add(time.Millisecond), second.Add(999 * time.Millisecond)} {
		assert.Equal(t, second.Add(time.Second), earliestBoot(off))
	}
}
