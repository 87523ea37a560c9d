package cluster

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// ours begins the names of our programs' ServiceAccounts, which end with the names of the programs.
const ours = "system:serviceaccount:podsequence-system:"

// Request is one request, as the API server's audit log has it: once at each of its stages. Those of a watch begin with
// ResponseStarted.
type Request struct {
	auditv1.Event
	// Program is the one of ours that asked, or empty.
	Program string
}

// Resource is the resource that was asked for, with its subresource if there is one; or empty.
func (r *Request) Resource() string {
	switch {
	case r.ObjectRef == nil:
		return ""
	case r.ObjectRef.Subresource != "":
		return r.ObjectRef.Resource + "/" + r.ObjectRef.Subresource
	}
	return r.ObjectRef.Resource
}

// IsAnswered reports whether this is the last stage of a request.
func (r *Request) IsAnswered() bool { return r.Stage == auditv1.StageResponseComplete }

// IsRead reports whether the request changes nothing.
func (r *Request) IsRead() bool { return r.Verb == "get" || r.Verb == "list" || r.Verb == "watch" }

// readAudit goes through the requests of which the audit log at a path has this text. To decode the others would take long.
func readAudit(log, text string, see func(*Request)) error {
	file, err := os.Open(log)
	if err != nil {
		return fmt.Errorf("open audit log: %w", err)
	}
	defer func() { _ = file.Close() }()
	lines := bufio.NewReaderSize(file, 1<<16)
	for {
		line, err := lines.ReadBytes('\n')
		switch {
		case errors.Is(err, io.EOF):
			return nil // a line without an end is being written
		case err != nil:
			return fmt.Errorf("read audit log: %w", err)
		case !bytes.Contains(line, []byte(text)):
			continue
		}
		r := &Request{}
		if err := json.Unmarshal(line, &r.Event); err != nil {
			return fmt.Errorf("decode audit log: %w", err)
		}
		r.Program, _ = strings.CutPrefix(r.User.Username, ours)
		if r.Program == r.User.Username {
			r.Program = "" // somebody else's, of or by one of ours
		}
		see(r)
	}
}
