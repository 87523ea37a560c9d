package definitions

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	"example.com/podsequence/internal/telemetry"
)

var installed = telemetry.Shared.GaugeVec("kind_installed",
	"1 if a kind is installed, 0 if it is not, by resource. Absent where nothing watches for it, such as on a standby replica.", "resource")

// Status tells the operator of the cluster whether a kind is installed: by a metric, and in the log when that changes.
type Status struct {
	Resource schema.GroupResource

	known     bool
	installed bool
}

// set takes note of whether the kind is installed. A nil Status does not.
func (s *Status) set(logger klog.Logger, isInstalled bool) {
	if s == nil {
		return
	}
	before, known := s.installed, s.known
	s.installed, s.known = isInstalled, true
	if known && before == isInstalled {
		return
	}
	name := s.Resource.String()
	if isInstalled {
		installed.WithLabelValues(name).Set(1)
		logger.Info("The kind is installed", "definition", name)
		return
	}
	installed.WithLabelValues(name).Set(0)
	logger.Info("The kind is not installed; waiting for its definition", "definition", name, "install", s.installCommand())
}

// installCommand is what installs the kind.
func (s *Status) installCommand() string {
	return fmt.Sprintf("kubectl apply --server-side -f manifests/crds/%s_%s.yaml", s.Resource.Group, s.Resource.Resource)
}
