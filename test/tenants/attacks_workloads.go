package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsapi "example.com/podsequence/apis/apps/v1"
	batchapi "example.com/podsequence/apis/batch/v1alpha1"
	"example.com/podsequence/pkg/controllers/podgroup"
)

// groupedPods is how many pods write invalid sizes. They are few: each stores as much as an annotation may have.
const groupedPods = 20

// invalidSizes writes sizes of a pod group that are no numbers, but long, and another one with each request, while the
// group lives. Whoever keeps each of them keeps all that was ever written.
var invalidSizes = attack{
	name: "invalid-sizes",
	aims: []measure{labelling},
	prepare: func(ctx context.Context, h *hostile, _ sizes) error {
		return eachAtOnce(ctx, groupedPods, func(ctx context.Context, i int) error {
			label := podgroup.DefaultNameLabel
			if h.decoy {
				label = decoyPrefix + label
			}
			pod := unscheduled(fmt.Sprintf("grouped-%d", i), map[string]string{label: "gang"})
			pod.Annotations = map[string]string{sizeAnnotation: "none"}
			return h.create(ctx, podKind, pod)
		})
	},
	storm: func(ctx context.Context, h *hostile, s sizes, i int) error {
		size := fmt.Sprint(i) + strings.Repeat("x", s.annotation)
		field := "/metadata/annotations/" + strings.ReplaceAll(sizeAnnotation, "/", "~1")
		return h.patch(ctx, podKind, fmt.Sprintf("grouped-%d", i%groupedPods), field, size)
	},
}

// overlappingCoordinations makes many DeploymentCoordinations select each of many Deployments of their namespace, none of which
// has a pod, and changes the Deployments: a program that compares all of both at each event has no time for others.
var overlappingCoordinations = attack{
	name: "coordinations",
	aims: []measure{turn},
	prepare: func(ctx context.Context, h *hostile, s sizes) error {
		err := eachAtOnce(ctx, s.deployments, func(ctx context.Context, i int) error {
			labels := map[string]string{"app": fmt.Sprintf("empty-%d", i)}
			return h.create(ctx, deploymentKind, &appsv1.Deployment{
				ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("empty-%d", i), Labels: labels, Annotations: map[string]string{"edit": ""}},
				Spec: appsv1.DeploymentSpec{
					Replicas: new(int32(0)), RevisionHistoryLimit: new(int32(0)),
					Selector: &metav1.LabelSelector{MatchLabels: labels},
					Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: podSpec()},
				},
			})
		})
		if err != nil {
			return err
		}
		return eachAtOnce(ctx, s.coordinations, func(ctx context.Context, i int) error {
			return h.create(ctx, coordinationKind, &appsapi.DeploymentCoordination{
				TypeMeta:   metav1.TypeMeta{APIVersion: appsapi.GroupVersion.String(), Kind: "DeploymentCoordination"},
				ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("overlapping-%d", i)},
			})
		})
	},
	storm: func(ctx context.Context, h *hostile, _ sizes, i int) error {
		names := h.names(deploymentKind) // as many as his quota allows
		if len(names) == 0 {
			return errors.New("no Deployment was created in the time for preparation: is the machine busy with something else?")
		}
		name := names[i%len(names)]
		if i%3 == 0 {
			return h.patch(ctx, deploymentKind, name, "/spec/template/metadata/annotations", map[string]string{"edit": fmt.Sprint(i)})
		}
		return h.patch(ctx, deploymentKind, name, "/metadata/annotations/edit", fmt.Sprint(i))
	},
}

// refusedJobs creates SequentialJobs whose Jobs the quota of the namespace refuses, and touches them: whoever asks for
// each of them again and again has no time for the steps of others.
var refusedJobs = attack{
	name: "refused-jobs",
	aims: []measure{step},
	allow: func(ctx context.Context, t *testbed, namespace string) error {
		quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "no-jobs"}}
		quota.Spec.Hard = corev1.ResourceList{"count/jobs.batch": resource.MustParse("0")}
		if err := t.api.Create(ctx, quota); err != nil {
			return fmt.Errorf("create quota: %w", err)
		}
		return nil
	},
	prepare: func(ctx context.Context, h *hostile, s sizes) error {
		return eachAtOnce(ctx, s.jobs, func(ctx context.Context, i int) error {
			job := &batchapi.SequentialJob{
				TypeMeta:   metav1.TypeMeta{APIVersion: batchapi.GroupVersion.String(), Kind: "SequentialJob"},
				ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("refused-%d", i), Annotations: map[string]string{"edit": ""}},
			}
			job.Spec.Containers = []corev1.Container{{Name: "step", Image: "example.com/step"}}
			return h.create(ctx, stepsKind, job)
		})
	},
	storm: func(ctx context.Context, h *hostile, s sizes, i int) error {
		return h.patch(ctx, stepsKind, fmt.Sprintf("refused-%d", i%s.jobs), "/metadata/annotations/edit", fmt.Sprint(i))
	},
}
