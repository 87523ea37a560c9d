package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
)

// notesFile is the description of a release.
const notesFile = "NOTES.md"

var (
	section  = regexp.MustCompile(`(?m)^## \[?([^\]\s]+)\]?.*$`)
	relative = regexp.MustCompile(`\]\(([^):#][^):]*)\)`)
)

// writeNotes writes what the changelog says of a version. Links to files of the sources lead to the repository, at the tag.
func writeNotes(file, changelog, version, repository string) error {
	if version == "" || repository == "" {
		return errors.New("-version or -repository is missing: notes are of a version, and link to its sources")
	}
	text, err := os.ReadFile(changelog)
	if err != nil {
		return fmt.Errorf("read changelog: %w", err)
	}
	notes, err := notesOf(string(text), version)
	if err != nil {
		return err
	}
	sources := strings.TrimSuffix(repository, "/") + "/blob/" + version + "/"
	notes = relative.ReplaceAllString(notes, "]("+sources+"$1)")
	if err := os.WriteFile(file, []byte(notes), 0o644); err != nil {
		return fmt.Errorf("write notes: %w", err)
	}
	return nil
}

// notesOf returns the section of a version, without its heading.
func notesOf(changelog, version string) (string, error) {
	headings := section.FindAllStringSubmatchIndex(changelog, -1)
	for i, heading := range headings {
		if changelog[heading[2]:heading[3]] != version {
			continue
		}
		end := len(changelog)
		if i+1 < len(headings) {
			end = headings[i+1][0]
		}
		notes := strings.TrimSpace(changelog[heading[1]:end])
		if notes == "" {
			return "", fmt.Errorf("the section %s of the changelog is empty: say there what users get", version)
		}
		return notes + "\n", nil
	}
	return "", fmt.Errorf("the changelog has no section %s", version)
}
