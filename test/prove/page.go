package main

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"example.com/podsequence/test/prove/results"
)

// The part of the page that is written stands between these lines.
const (
	pageBegin = "<!-- written by make prove: begin -->\n"
	pageEnd   = "<!-- written by make prove: end -->\n"
)

// writePage writes the results of this commit into the page, if one is given.
func (p *prover) writePage() error {
	if p.page == "" {
		return nil
	}
	all, err := p.store.Load()
	if err != nil {
		return err
	}
	page := results.Page{Date: time.Now(), Commit: p.commit, Machine: machine()}
	for _, r := range all {
		if r.Commit == p.commit {
			page.Results = append(page.Results, r)
		}
	}
	if page.Crashes, err = p.crashes(); err != nil {
		return err
	}
	var written bytes.Buffer
	if err := page.Write(&written); err != nil {
		return err
	}
	text, err := os.ReadFile(p.page)
	if err != nil {
		return fmt.Errorf("read page: %w", err)
	}
	before, rest, found := strings.Cut(string(text), pageBegin)
	_, after, ended := strings.Cut(rest, pageEnd)
	if !found || !ended {
		return fmt.Errorf("find the part of %s to write: it has no lines %q and %q", p.page, strings.TrimSpace(pageBegin), strings.TrimSpace(pageEnd))
	}
	if err := os.WriteFile(p.page, []byte(before+pageBegin+written.String()+pageEnd+after), 0o644); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}

// machine says what the proof was run on.
func machine() string {
	memory := "unknown memory"
	if content, err := os.ReadFile("/proc/meminfo"); err == nil {
		var kilobytes int
		if _, err := fmt.Sscanf(string(content), "MemTotal: %d kB", &kilobytes); err == nil {
			memory = fmt.Sprintf("%d GiB", (kilobytes+1<<19)>>20)
		}
	}
	return fmt.Sprintf("%d processors, %s, %s/%s", runtime.NumCPU(), memory, runtime.GOOS, runtime.GOARCH)
}
