package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

const (
	argoAgent = "argo-like-waves"
	// waveDelay is what Argo CD waits after it has applied a wave that is not the last, by default.
	waveDelay = 2 * time.Second
	// endOfWaves is the order after the last wave.
	endOfWaves = "end"
)

var errEndedBetweenWaves = errors.New("the benchmark ended between two waves")

// runWaves applies Deployments one after another, as Argo CD does those of several waves: it watches Deployments and what they own, applies
// one, pauses, and applies the next one as soon as its watch shows that the one before it is healthy. An order is a Deployment as JSON.
func runWaves(ctx context.Context, config *rest.Config, orders <-chan string, report func(string)) error {
	core, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	factory := informers.NewSharedInformerFactory(core, 0)
	deployments := factory.Apps().V1().Deployments().Informer()
	factory.Apps().V1().ReplicaSets().Informer()
	factory.Core().V1().Pods().Informer()
	changed := make(chan struct{}, 1)
	change := func(any) {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	handler := cache.ResourceEventHandlerFuncs{AddFunc: change, UpdateFunc: func(_, object any) { change(object) }}
	if _, err := deployments.AddEventHandler(handler); err != nil {
		return fmt.Errorf("watch Deployments: %w", err)
	}
	factory.StartWithContext(ctx)
	factory.WaitForCacheSync(ctx.Done())
	report("ready")
	var waves []*appsv1.Deployment
	for order := range orders {
		if order == endOfWaves {
			break
		}
		wave := &appsv1.Deployment{}
		if err := json.Unmarshal([]byte(order), wave); err != nil {
			return fmt.Errorf("read manifest: %w", err)
		}
		waves = append(waves, wave)
	}
	for i, wave := range waves {
		if err := apply(ctx, core, wave); err != nil {
			return err
		}
		if i == len(waves)-1 {
			break
		}
		select {
		case <-time.After(waveDelay):
		case <-ctx.Done():
			return errEndedBetweenWaves
		}
		for !isInStore(deployments.GetStore(), wave, isHealthy) {
			select {
			case <-changed:
			case <-ctx.Done():
				return errEndedBetweenWaves
			}
		}
	}
	report("done")
	<-ctx.Done()
	return nil
}

// apply creates what is not there.
func apply(ctx context.Context, core kubernetes.Interface, wave *appsv1.Deployment) error {
	of := core.AppsV1().Deployments(wave.Namespace)
	if _, err := of.Get(ctx, wave.Name, metav1.GetOptions{}); err == nil || !apierrors.IsNotFound(err) {
		return fmt.Errorf("look for %s, which must not be there: %w", wave.Name, err)
	}
	if _, err := of.Create(ctx, wave, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("apply %s: %w", wave.Name, err)
	}
	return nil
}

func isInStore(store cache.Store, wave *appsv1.Deployment, so func(*appsv1.Deployment) bool) bool {
	object, found, err := store.Get(wave)
	return err == nil && found && so(object.(*appsv1.Deployment))
}

// isHealthy reports whether a Deployment has rolled out, which is when Argo CD calls it healthy.
func isHealthy(d *appsv1.Deployment) bool {
	return d.Status.ObservedGeneration >= d.Generation && d.Status.UpdatedReplicas == *d.Spec.Replicas &&
		d.Status.Replicas == d.Status.UpdatedReplicas && d.Status.AvailableReplicas == d.Status.UpdatedReplicas
}
