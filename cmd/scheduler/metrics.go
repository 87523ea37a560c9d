package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

const (
	metricLabelsFlag         = "allow-metric-labels"
	metricLabelsManifestFlag = "allow-metric-labels-manifest"
	// noMetricLabels allows the empty value of a label that no metric has.
	noMetricLabels = "podsequence_no_metric,no_label="
)

// addMetricLabels makes the command allow some value of some metric label if no flag does. Without such a flag component-base logs an
// error at every start: that the manifest with these values is empty.
func addMetricLabels(command *cobra.Command) {
	prepare := command.PersistentPreRunE
	command.PersistentPreRunE = func(cmd *cobra.Command, args []string) error {
		if flags := cmd.Flags(); !flags.Changed(metricLabelsFlag) && !flags.Changed(metricLabelsManifestFlag) {
			if err := flags.Set(metricLabelsFlag, noMetricLabels); err != nil {
				return fmt.Errorf("set --%s: %w", metricLabelsFlag, err)
			}
		}
		return prepare(cmd, args)
	}
}
