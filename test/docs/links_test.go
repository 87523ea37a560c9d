package docs

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/podsequence/test/harness/book"
)

var (
	link      = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading   = regexp.MustCompile(`^#+ (.*)$`)
	linked    = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	dropped   = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	listed    = regexp.MustCompile(`^- \[[^\]]+\]\(([^)]+)\)`)
	quoted    = regexp.MustCompile("`[^`]*`")
	elsewhere = regexp.MustCompile(`^[a-z]+:`)
)

// A link to a page or a section that was renamed leads nowhere.
func TestLinksLeadSomewhere(t *testing.T) {
	all := pages(t)
	sections := map[string]map[string]bool{}
	for _, p := range all {
		sections[p.File] = anchors(p)
	}
	checked := 0
	for _, p := range all {
		for _, l := range p.Lines {
			for _, match := range link.FindAllStringSubmatch(quoted.ReplaceAllString(l.Text, ""), -1) {
				if elsewhere.MatchString(match[1]) {
					continue
				}
				checked++
				assert.NoError(t, resolve(p.File, match[1], sections), "%s:%d", p.File, l.Number)
			}
		}
	}
	assert.Greater(t, checked, 200)
}

// resolve looks for what a relative link leads to.
func resolve(from, target string, sections map[string]map[string]bool) error {
	file, anchor, hasAnchor := strings.Cut(target, "#")
	to := from
	if file != "" {
		to = path.Join(path.Dir(from), file)
	}
	if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(to))); err != nil {
		return fmt.Errorf("the link to %s leads nowhere: there is no %s", target, to)
	}
	if hasAnchor && !sections[to][anchor] {
		return fmt.Errorf("the link to %s leads to no section of %s", target, to)
	}
	return nil
}

// anchors are the names of a page's sections, as GitHub and the site make them.
func anchors(p book.Page) map[string]bool {
	found := map[string]bool{}
	for _, l := range p.Lines {
		match := heading.FindStringSubmatch(l.Text)
		if match == nil {
			continue
		}
		text := strings.ToLower(linked.ReplaceAllString(match[1], "$1"))
		name := strings.ReplaceAll(dropped.ReplaceAllString(text, ""), " ", "-")
		unique := name
		for n := 1; found[unique]; n++ {
			unique = fmt.Sprintf("%s-%d", name, n)
		}
		found[unique] = true
	}
	return found
}

// The order of the site is that of the lists in docs/README.md. The pages for contributors are listed in a page of their own, out of the
// way of users. Nobody finds a page that no list has.
func TestEveryPageIsInTheBook(t *testing.T) {
	const contents, contributing = "docs/README.md", "docs/contributing/README.md"
	times := map[string]map[string]int{contents: {}, contributing: {}}
	inBook := bookPages(t)
	for _, p := range inBook {
		if times[p.File] == nil {
			continue
		}
		for _, l := range p.Lines {
			if match := listed.FindStringSubmatch(l.Text); match != nil {
				times[p.File][path.Join(path.Dir(p.File), match[1])]++
			}
		}
	}
	require.NotEmpty(t, times[contents])
	require.NotEmpty(t, times[contributing])
	for _, p := range inBook {
		list, want := contents, 1
		switch {
		case p.File == contents:
			want = 0
		case p.File != contributing && strings.HasPrefix(p.File, "docs/contributing/"):
			list = contributing
		}
		assert.Equal(t, want, times[list][p.File], "%s must list %s once", list, p.File)
		require.NotEmpty(t, p.Lines, p.File)
		assert.True(t, strings.HasPrefix(p.Lines[0].Text, "# "), "%s must begin with its title", p.File)
	}
}
