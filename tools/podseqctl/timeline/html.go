package timeline

import (
	"bytes"
	"fmt"
	"html/template"
	"io"
	"time"

	"example.com/podsequence/pkg/sequence"
)

// page is a document that needs nothing else: it can be attached to a ticket.
var page = template.Must(template.New("page").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{{.Timeline.Sequence}}</title>
<style>
body{font:14px system-ui,sans-serif;color:#1f2933;background:#fff;margin:2rem;max-width:72rem}
table{border-collapse:collapse;margin-top:1rem}
th,td{text-align:left;padding:.25rem .75rem .25rem 0;border-bottom:1px solid #e3e7ec;vertical-align:top}
th.number,td.number{text-align:right;font-variant-numeric:tabular-nums}
tr.critical td:nth-child(2){color:#b3261e;font-weight:600}
svg{max-width:100%;height:auto}
</style>
</head>
<body>
{{.Picture}}
{{with .Timeline.Critical}}<h2>Critical path</h2>
<table>
<tr><th class="number">From</th><th class="number">To</th><th>Group</th><th>What</th><th>How to save time</th></tr>
{{range .}}<tr><td class="number">{{$.Since .From}}</td><td class="number">{{$.Since .To}}</td><td>{{$.Title .Group}}</td><td>{{.Message}}</td><td>{{.Advice}}</td></tr>
{{end}}</table>
{{end}}<h2>Pods</h2>
<table>
<tr><th>Group</th><th>Pod</th><th>Node</th><th class="number">Created</th><th class="number">Released</th><th class="number">Bound</th><th class="number">Ready</th></tr>
{{range $i, $g := .Timeline.Groups}}{{range $g.Pods}}<tr{{if .Critical}} class="critical"{{end}}><td>{{$.Title $i}}</td><td>{{.Name}}</td><td>{{.Node}}</td>` +
	`<td class="number">{{$.Since .Created}}</td><td class="number">{{$.SinceAny .Released}}</td><td class="number">{{$.SinceAny .Bound}}</td><td class="number">{{$.SinceAny .Ready}}</td></tr>
{{end}}{{end}}</table>
</body>
</html>
`))

// HTML writes the picture together with tables of all times.
func (t *Timeline) HTML(out io.Writer, all bool) error {
	var picture bytes.Buffer
	if err := t.SVG(&picture, all); err != nil {
		return err
	}
	if err := page.Execute(out, document{t, template.HTML(picture.String())}); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}

// document is what the page is made of. The picture is our own, and escapes what it takes from objects.
type document struct {
	Timeline *Timeline
	Picture  template.HTML
}

// Since says how long after the beginning something was.
func (d document) Since(at time.Time) string { return d.Timeline.since(&at) }

// SinceAny is Since for what may not have been.
func (d document) SinceAny(at *time.Time) string { return d.Timeline.since(at) }

// Title names a group.
func (d document) Title(group int) string {
	return fmt.Sprintf("%d. %s", group+1, sequence.DisplayName(d.Timeline.Groups[group].Title))
}
