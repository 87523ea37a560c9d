package rolloutcheck

import (
	"context"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"

	"example.com/podsequence/test/revisions"
)

// Watcher watches the Deployments of one cluster. It only ever reads.
type Watcher struct {
	follower *revisions.Follower[deployment]
	history  []change // only ever appended to
}

// Start returns once the watcher has seen what there is; from then on it sees every change, until it is stopped.
func Start(ctx context.Context, etcd clientv3.Config) (*Watcher, error) {
	w := &Watcher{}
	var err error
	w.follower, err = revisions.Follow(ctx, etcd, w.record, revisions.KindOf("deployments", readDeployment))
	if err != nil {
		return nil, fmt.Errorf("start the watcher of rollouts: %w", err)
	}
	return w, nil
}

// Stop ends the watch and returns when it has ended.
func (w *Watcher) Stop() {
	w.follower.Stop()
}

func (w *Watcher) record(c change) {
	w.history = append(w.history, c)
}

// VerdictFor judges the Deployments of a namespace up to now.
func (w *Watcher) VerdictFor(ctx context.Context, namespace string) (Verdict, error) {
	if err := w.follower.CatchUp(ctx); err != nil {
		return Verdict{}, fmt.Errorf("see all changes of Deployments: %w", err)
	}
	var history []change
	w.follower.View(func(revisions.Revision) { history = w.history })
	return judge(history, namespace), nil
}
