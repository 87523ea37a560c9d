package integration

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"
)

// auditEvent is one request, as the API server's audit log has it.
type auditEvent struct {
	Verb, Stage, RequestURI string
	ObjectRef               *struct{ Namespace, Resource, Name, Subresource string }
	User                    struct{ Username string }
	ResponseStatus          struct{ Message string }
	Annotations             map[string]string
}

// readAuditLog goes through all requests that have been answered so far.
func readAuditLog(path string, see func(auditEvent)) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open audit log: %w", err)
	}
	defer func() { _ = file.Close() }()
	lines := bufio.NewReader(file)
	for {
		line, err := lines.ReadBytes('\n')
		switch {
		case errors.Is(err, io.EOF):
			return nil // a line without an end is being written
		case err != nil:
			return fmt.Errorf("read audit log: %w", err)
		}
		var e auditEvent
		if err := json.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("decode audit log: %w", err)
		}
		if e.Stage == "ResponseComplete" {
			see(e)
		}
	}
}

// audited goes through the audit log of the story's cluster.
func (s *story) audited(see func(auditEvent)) {
	s.Helper()
	require.NoError(s, readAuditLog(s.cluster.AuditLog(), see))
}

// writesAreOurs is an error if our programs ever wrote to a node, or what our policies refuse. It says how much they wrote at
// all.
func writesAreOurs(log string) error {
	ours, nodes := 0, map[string]int{}
	var refused []string
	err := readAuditLog(log, func(e auditEvent) {
		reads := []string{"get", "list", "watch"}
		if !strings.HasPrefix(e.User.Username, "system:serviceaccount:podsequence-system:") || slices.Contains(reads, e.Verb) {
			return
		}
		ours++
		if strings.Contains(e.ResponseStatus.Message, "ValidatingAdmissionPolicy 'podsequence-") {
			refused = append(refused, e.ResponseStatus.Message)
		}
		if ref := e.ObjectRef; ref != nil && ref.Resource == "nodes" {
			nodes[e.User.Username+" "+e.Verb+" "+ref.Subresource]++
		}
	})
	if err != nil {
		return err
	}
	if len(nodes) > 0 {
		return fmt.Errorf("our programs wrote to nodes: %v", nodes)
	}
	if len(refused) > 0 {
		return fmt.Errorf("our policies refused %d writes of our programs, the first: %s", len(refused), refused[0])
	}
	fmt.Printf("our programs made %d writes, none to a node\n", ours)
	return nil
}
