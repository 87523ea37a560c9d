package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// since returns the commit since which to look.
func since(base string) (string, error) {
	if base != "" {
		return output("git", "rev-parse", "--verify", base+"^{commit}")
	}
	head, err := output("git", "rev-parse", "HEAD")
	if err != nil {
		return "", err
	}
	// A clone need not have the branch.
	if fork, err := output("git", "merge-base", "origin/main", "HEAD"); err == nil && fork != head {
		return fork, nil
	}
	if dirty, err := output("git", "status", "--porcelain"); err != nil || dirty != "" {
		return head, err
	}
	if before, err := output("git", "rev-parse", "--verify", "HEAD~1"); err == nil {
		return before, nil
	}
	return head, nil // the first commit
}

// changedFiles returns the files that were changed or added since the commit, whether committed or not.
func changedFiles(base string) ([]string, error) {
	tracked, err := output("git", "diff", "--name-only", "--diff-filter=d", base)
	if err != nil {
		return nil, err
	}
	added, err := output("git", "ls-files", "--others", "--exclude-standard")
	if err != nil {
		return nil, err
	}
	files := strings.Fields(tracked + "\n" + added)
	slices.Sort(files)
	return slices.Compact(files), nil
}

// byModule sorts files by the directory of the Go module that they are in. That of the main module is ".".
func byModule(files []string) map[string][]string {
	sorted := map[string][]string{}
	for _, file := range files {
		directory := filepath.Dir(file)
		for directory != "." {
			if _, err := os.Stat(filepath.Join(directory, "go.mod")); err == nil {
				break
			}
			directory = filepath.Dir(directory)
		}
		sorted[directory] = append(sorted[directory], file)
	}
	return sorted
}
