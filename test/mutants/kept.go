package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// kept holds the results of earlier runs, so that a run that was interrupted continues where it was.
type kept struct{ directory string }

func (k kept) path(text string) string {
	sum := sha256.Sum256([]byte(text))
	return filepath.Join(k.directory, hex.EncodeToString(sum[:16])+".json")
}

// load returns what caught a change, by the text of the changed file.
func (k kept) load(text string) (caughtBy []string, known bool) {
	content, err := os.ReadFile(k.path(text))
	if err != nil {
		return nil, false
	}
	return caughtBy, json.Unmarshal(content, &caughtBy) == nil
}

func (k kept) store(text string, caughtBy []string) error {
	content, err := json.Marshal(caughtBy)
	if err != nil {
		return fmt.Errorf("keep result: %w", err)
	}
	if err := os.MkdirAll(k.directory, 0o755); err != nil {
		return fmt.Errorf("keep result: %w", err)
	}
	if err := os.WriteFile(k.path(text), content, 0o644); err != nil {
		return fmt.Errorf("keep result: %w", err)
	}
	return nil
}
