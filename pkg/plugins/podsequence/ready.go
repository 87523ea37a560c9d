package podsequence

import (
	"fmt"
	"net/http"
)

// Ready is nil when this process knows all that it must know to schedule, and otherwise says what is missing. A standby
// with delayCacheUntilActive is ready: it watches nothing yet, and would otherwise hold up every rolling update.
//
// It is a check for a server of its own, for kube-scheduler's readyz cannot be added to: the checks are made in
// app.Run, which takes none from outside. That readyz is also false on such a standby, and true from the first
// synchronization on, whatever happens later.
func Ready(*http.Request) error {
	holdersMu.Lock()
	defer holdersMu.Unlock()
	if len(holders) == 0 {
		return fmt.Errorf("no profile enables the plugin %s", Name)
	}
	for _, h := range holders {
		if err := h.ready(); err != nil {
			return err
		}
	}
	return nil
}
