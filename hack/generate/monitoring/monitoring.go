// Package monitoring writes into a directory what promtool can check of manifests/options/monitoring: the alert rules, as Prometheus reads
// them, and each query of the dashboard as a rule.
package monitoring

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

// Source is where the manifests are, from the module's directory.
const Source = "manifests/options/monitoring"

type ruleFile struct {
	Groups []ruleGroup `json:"groups"`
}

type ruleGroup struct {
	Name  string `json:"name"`
	Rules []rule `json:"rules"`
}

type rule struct {
	Alert       string            `json:"alert,omitempty"`
	Record      string            `json:"record,omitempty"`
	Expr        string            `json:"expr"`
	For         string            `json:"for,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Write writes the files into a directory.
func Write(from, to string) error {
	rules, err := readAlerts(from)
	if err != nil {
		return err
	}
	if err := write(filepath.Join(to, "rules.yaml"), rules); err != nil {
		return err
	}
	for i := range rules.Groups {
		for j := range rules.Groups[i].Rules {
			rules.Groups[i].Rules[j].Annotations = nil
		}
	}
	if err := write(filepath.Join(to, "rules-without-annotations.yaml"), rules); err != nil {
		return err
	}
	queries, err := readQueries(from)
	if err != nil {
		return err
	}
	recorded := ruleGroup{Name: "dashboard"}
	for i, query := range queries {
		recorded.Rules = append(recorded.Rules, rule{
			Record: fmt.Sprintf("dashboard:query_%d", i), Expr: strings.ReplaceAll(query.Expr, "$__rate_interval", "5m"),
		})
	}
	return write(filepath.Join(to, "dashboard.yaml"), ruleFile{[]ruleGroup{recorded}})
}

// readAlerts reads the rules out of the PrometheusRule.
func readAlerts(from string) (ruleFile, error) {
	text, err := os.ReadFile(filepath.Join(from, "alerts.yaml"))
	if err != nil {
		return ruleFile{}, fmt.Errorf("read alert rules: %w", err)
	}
	var object struct {
		Spec ruleFile `json:"spec"`
	}
	if err := yaml.Unmarshal(text, &object); err != nil {
		return ruleFile{}, fmt.Errorf("decode alert rules: %w", err)
	}
	return object.Spec, nil
}

// query is one of the dashboard.
type query struct{ Panel, Expr string }

type panel struct {
	ID      int    `json:"id"`
	Type    string `json:"type"`
	Title   string `json:"title"`
	GridPos struct{ X, Y, W, H int }
	Targets []struct {
		Expr string `json:"expr"`
	} `json:"targets"`
}

func readPanels(from string) ([]panel, error) {
	text, err := os.ReadFile(filepath.Join(from, "dashboard.json"))
	if err != nil {
		return nil, fmt.Errorf("read dashboard: %w", err)
	}
	var dashboard struct {
		Panels []panel `json:"panels"`
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		return nil, fmt.Errorf("decode dashboard: %w", err)
	}
	return dashboard.Panels, nil
}

func readQueries(from string) ([]query, error) {
	panels, err := readPanels(from)
	if err != nil {
		return nil, err
	}
	var queries []query
	for _, panel := range panels {
		for _, target := range panel.Targets {
			queries = append(queries, query{panel.Title, target.Expr})
		}
	}
	return queries, nil
}

func write(path string, content any) error {
	text, err := yaml.Marshal(content)
	if err != nil {
		return fmt.Errorf("encode %s: %w", path, err)
	}
	return os.WriteFile(path, text, 0o644)
}
