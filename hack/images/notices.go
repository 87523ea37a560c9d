package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
)

// writeNotices writes into one file the licences of all that a program is built from, on any of the platforms: what comes without an image
// must have them too.
func (b *builder) writeNotices(ctx context.Context, file string, p program, platforms []string) error {
	all := licenses{}
	for _, platform := range platforms {
		found, err := b.licenses(ctx, p, platform)
		if err != nil {
			return err
		}
		for module, texts := range found {
			if all[module] == nil {
				all[module] = map[string][]byte{}
			}
			maps.Copy(all[module], texts)
		}
	}
	if err := os.WriteFile(file, all.notices(p.name), 0o644); err != nil {
		return fmt.Errorf("write licences: %w", err)
	}
	return nil
}

// notices are all texts, each once, below the names of the files that have it.
func (l licenses) notices(program string) []byte {
	names := map[string][]string{} // by text
	for module, texts := range l {
		for name, text := range texts {
			names[string(text)] = append(names[string(text)], path.Join(module, name))
		}
	}
	for _, files := range names {
		slices.Sort(files)
	}
	texts := slices.SortedFunc(maps.Keys(names), func(a, b string) int { return strings.Compare(names[a][0], names[b][0]) })
	var notices bytes.Buffer
	fmt.Fprintf(&notices, "%s is built from these Go modules and from the standard library (std).\n", program)
	for _, text := range texts {
		line := strings.Repeat("-", 80)
		fmt.Fprintf(&notices, "\n%s\n%s\n%s\n\n%s\n", line, strings.Join(names[text], "\n"), line, strings.TrimSpace(text))
	}
	return notices.Bytes()
}
