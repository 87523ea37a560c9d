// Package book reads the documentation, for the tests that compare it with what there is.
package book

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Page is a page of the documentation.
type Page struct {
	// File is its path from the root of the module, with slashes.
	File string
	// Lines are those outside of blocks.
	Lines  []Line
	Blocks []Block
}

// Line is a line outside of blocks.
type Line struct {
	Number int
	Text   string
}

// Block is a fenced block of code.
type Block struct {
	// Number is that of the line with the fence.
	Number int
	// Info is what stands beside the fence: the language, and what CONTRIBUTING.md lists.
	Info string
	Text string
}

// Language is the first word of a block's info.
func (b Block) Language() string {
	language, _, _ := strings.Cut(b.Info, " ")
	return language
}

// Is reports whether a block's info has a word.
func (b Block) Is(word string) bool {
	return strings.Contains(" "+b.Info+" ", " "+word+" ")
}

// SaveAs returns the name under which a reader saves the block, if the page says so.
func (b Block) SaveAs() string {
	_, name, _ := strings.Cut(b.Info, "file=")
	return name
}

// Pages reads all pages below the root of the module that people read: the book, and the READMEs and policies elsewhere.
func Pages(root string) ([]Page, error) {
	var all []Page
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != root && skipped(entry.Name()):
			return fs.SkipDir
		case entry.IsDir() || filepath.Ext(path) != ".md":
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		file, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		page, err := Parse(filepath.ToSlash(file), string(text))
		all = append(all, page)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read pages: %w", err)
	}
	return all, nil
}

// skipped reports whether a directory has no pages of ours.
func skipped(directory string) bool {
	return directory != ".github" && strings.HasPrefix(directory, ".") || directory == "testdata" || directory == "bin" || directory == "dist"
}

var fence = regexp.MustCompile("^( *)```(.*)$")

// Parse reads the text of a page.
func Parse(file, text string) (Page, error) {
	page := Page{File: file}
	var open *Block
	indent := ""
	for i, line := range strings.Split(text, "\n") {
		match := fence.FindStringSubmatch(line)
		switch {
		case match != nil && open == nil:
			open, indent = &Block{Number: i + 1, Info: match[2]}, match[1]
		case match != nil:
			page.Blocks, open = append(page.Blocks, *open), nil
		case open != nil:
			open.Text += strings.TrimPrefix(line, indent) + "\n"
		default:
			page.Lines = append(page.Lines, Line{Number: i + 1, Text: line})
		}
	}
	if open != nil {
		return page, fmt.Errorf("%s:%d: the block does not end", file, open.Number)
	}
	return page, nil
}
