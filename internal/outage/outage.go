// Package outage makes a program wait at its start for an API server that cannot be reached. Later, its clients do: the reflectors of
// client-go try again after at most a minute.
package outage

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
)

// tryAgain is how long to wait before the next attempt to reach an API server.
var tryAgain = wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 6, Cap: 2 * time.Second}

// sayAgain is how long Await waits with the same words in the log.
const sayAgain = time.Minute

// Await asks until an answer comes, or the context ends. It logs the first failure, and then one a minute.
func Await(ctx context.Context, host string, ask func(context.Context) error) error {
	logger := klog.FromContext(ctx)
	begin, said := time.Now(), time.Time{}
	err := tryAgain.DelayFunc().Until(ctx, true, true, func(ctx context.Context) (bool, error) {
		err := ask(ctx)
		if err != nil && ctx.Err() == nil && time.Since(said) >= sayAgain {
			logger.Error(err, "Waiting for the API server", "apiServer", host)
			said = time.Now()
		}
		return err == nil, nil
	})
	if err == nil && !said.IsZero() {
		logger.Info("The API server answers", "apiServer", host, "waited", time.Since(begin).Round(time.Millisecond))
	}
	return err
}
