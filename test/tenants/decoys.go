package main

import (
	"context"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// createDecoys serves a copy of each of our kinds, with all its rules, in a group that our programs know nothing of. What it takes
// the API server to check, store and send such objects is the same.
func (t *testbed) createDecoys(ctx context.Context) error {
	for _, kind := range decoyed {
		ours := &apiextensionsv1.CustomResourceDefinition{}
		if err := t.api.Get(ctx, client.ObjectKey{Name: kind.plural + "." + kind.group()}, ours); err != nil {
			return fmt.Errorf("get the definition of %s: %w", kind.plural, err)
		}
		decoy := &apiextensionsv1.CustomResourceDefinition{
			ObjectMeta: metav1.ObjectMeta{Name: kind.plural + "." + decoyPrefix + kind.group()},
			Spec:       *ours.Spec.DeepCopy(),
		}
		decoy.Spec.Group = decoyPrefix + kind.group()
		if err := t.api.Create(ctx, decoy); err != nil {
			return fmt.Errorf("create decoy of %s: %w", kind.plural, err)
		}
		err := t.await(ctx, decoy.Name+" to be served", func(ctx context.Context) (bool, error) {
			// Whoever asks too early hears that there is no such resource.
			err := t.core.CoreV1().RESTClient().Get().AbsPath(kind.decoy().api, kind.plural).Do(ctx).Error()
			return err == nil, client.IgnoreNotFound(err)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
