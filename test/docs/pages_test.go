package docs

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/podsequence/test/harness/book"
)

// pages are all pages that people read.
func pages(t *testing.T) []book.Page {
	t.Helper()
	all, err := book.Pages(root)
	require.NoError(t, err)
	require.Greater(t, len(all), 40)
	return all
}

// bookPages are the pages below docs.
func bookPages(t *testing.T) []book.Page {
	t.Helper()
	var found []book.Page
	for _, p := range pages(t) {
		if strings.HasPrefix(p.File, "docs/") {
			found = append(found, p)
		}
	}
	return found
}
