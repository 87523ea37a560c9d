package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// sums are SHA-256 sums in hexadecimal, by path in the release.
type sums map[string]string

// parseSums reads what sha256sum writes.
func parseSums(text []byte) (sums, error) {
	parsed := sums{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		sum, name, ok := strings.Cut(lines.Text(), "  ")
		if !ok || len(sum) != hex.EncodedLen(sha256.Size) || !filepath.IsLocal(name) {
			return nil, fmt.Errorf("%s: %q is no sum and file", sumsFile, lines.Text())
		}
		parsed[name] = sum
	}
	return parsed, lines.Err()
}

// listFiles returns the paths of the files of a release, without those that signing makes.
func listFiles(directory string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		relative, err := filepath.Rel(directory, path)
		if err != nil {
			return err
		}
		switch name := filepath.ToSlash(relative); name {
		case sumsFile, signatureFile, provenanceFile:
		default:
			files = append(files, name)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list files of the release: %w", err)
	}
	return files, nil
}

// compare returns an error if a file of the release is not as the sums say, or if they do not have it.
func (s sums) compare(directory string, files []string) error {
	for _, file := range files {
		want, ok := s[file]
		if !ok {
			return fmt.Errorf("%s is not part of the release: %s does not have it", file, sumsFile)
		}
		got, err := sumOf(filepath.Join(directory, filepath.FromSlash(file)))
		if err != nil {
			return err
		}
		if got != want {
			return fmt.Errorf("%s was changed: its sum is %s, and %s has %s", file, got, sumsFile, want)
		}
	}
	return nil
}

func sumOf(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
