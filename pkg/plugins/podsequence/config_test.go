package podsequence

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-scheduler/app/options"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

// shippedConfig is what users run our scheduler with.
func shippedConfig(t *testing.T) *config.KubeSchedulerConfiguration {
	t.Helper()
	c, err := options.LoadConfigFromFile(klog.FromContext(t.Context()), "../../../manifests/scheduler-config/scheduler-config.yaml")
	require.NoError(t, err)
	return c
}

// Both shipped configurations give all profiles the same plugin, and differ in whose place they take.
func TestShippedConfigurationInPlaceOfKubeScheduler(t *testing.T) {
	c, err := options.LoadConfigFromFile(klog.FromContext(t.Context()), "../../../manifests/scheduler-config/as-default-scheduler.yaml")
	require.NoError(t, err)
	beside := shippedConfig(t)
	assert.Equal(t, "kube-system/kube-scheduler", c.LeaderElection.ResourceNamespace+"/"+c.LeaderElection.ResourceName,
		"so that it never acts beside kube-scheduler")
	require.Len(t, c.Profiles, 2)
	assert.Equal(t, "default-scheduler", c.Profiles[0].SchedulerName)
	for _, profile := range c.Profiles {
		assert.Equal(t, beside.Profiles[0].Plugins, profile.Plugins)
		assert.Equal(t, beside.Profiles[0].PluginConfig, profile.PluginConfig)
	}
	c.Profiles, c.LeaderElection, c.ClientConnection.Kubeconfig = beside.Profiles, beside.LeaderElection, ""
	assert.Equal(t, beside, c)
}

// A profile loses batching for all its pods by one plugin that cannot sign. Default spreading, which cannot, is off here.
func TestTheProfileCanStillSignPods(t *testing.T) {
	s := newStage(t, func(profile *config.KubeSchedulerProfile) {
		for _, c := range profile.PluginConfig {
			if args, ok := c.Args.(*config.PodTopologySpreadArgs); ok {
				args.DefaultingType = config.ListDefaulting
			}
		}
	})
	assert.NotNil(t, s.Profiles[schedulerName].SignPod(t.Context(), pod("app", "5").Obj()))
}

func TestProfilesShareOneEngine(t *testing.T) {
	newScheduler := func(t *testing.T, change func(second *config.KubeSchedulerProfile)) error {
		profiles := shippedConfig(t).Profiles
		second := *profiles[0].DeepCopy()
		second.SchedulerName = "second"
		change(&second)
		client := fake.NewClientset()
		_, err := scheduler.New(t.Context(), client, scheduler.NewInformerFactory(client, 0, nil), nil, newRecorders(client),
			scheduler.WithFrameworkOutOfTreeRegistry(frameworkruntime.Registry{Name: New}), scheduler.WithProfiles(profiles[0], second), scheduler.WithKubeConfig(&rest.Config{}))
		return err
	}
	t.Run("two profiles have one holder, which acts for both", func(t *testing.T) {
		require.NoError(t, newScheduler(t, func(*config.KubeSchedulerProfile) {}))
		holdersMu.Lock()
		defer holdersMu.Unlock()
		require.Len(t, holders, 1)
		for _, h := range holders {
			assert.Equal(t, sets.New(schedulerName, "second"), h.profiles)
		}
	})
	t.Run("profiles that disagree are refused", func(t *testing.T) {
		err := newScheduler(t, func(second *config.KubeSchedulerProfile) {
			for i := range second.PluginConfig {
				if second.PluginConfig[i].Name == Name {
					second.PluginConfig[i].Args = &runtime.Unknown{Raw: []byte(`{"explainWaits": false}`)}
				}
			}
		})
		assert.ErrorContains(t, err, "use the same arguments in all profiles")
	})
}

func TestASchedulerThatCannotMakeItsClientsDoesNotStart(t *testing.T) {
	client := fake.NewClientset()
	missing := rest.TLSClientConfig{CAFile: filepath.Join(t.TempDir(), "ca.crt")}
	_, err := scheduler.New(t.Context(), client, scheduler.NewInformerFactory(client, 0, nil), nil, newRecorders(client),
		scheduler.WithFrameworkOutOfTreeRegistry(frameworkruntime.Registry{Name: New}), scheduler.WithProfiles(shippedConfig(t).Profiles...),
		scheduler.WithKubeConfig(&rest.Config{Host: "https://127.0.0.1", TLSClientConfig: missing}))
	assert.ErrorContains(t, err, "ca.crt")
}

func TestShippedConfiguration(t *testing.T) {
	c := shippedConfig(t)
	assert.True(t, c.DelayCacheUntilActive, "or standbys watch and write")
	assert.True(t, c.LeaderElection.LeaderElect)
	assert.Equal(t, "podsequence-system/podsequence-scheduler", c.LeaderElection.ResourceNamespace+"/"+c.LeaderElection.ResourceName,
		"kube-scheduler's own lease belongs to the cluster's scheduler")
	assert.Greater(t, c.ClientConnection.QPS, float32(50), "kube-scheduler's default spreads the release of 1,000 pods over 20 s")
	assert.Greater(t, c.ClientConnection.Burst, int32(100))
	assert.False(t, c.EnableProfiling, "profiles tell of other people's pods")
	for name, profile := range newStage(t).Profiles {
		var binders []string
		for _, plugin := range profile.ListPlugins().Bind.Enabled {
			binders = append(binders, plugin.Name)
		}
		assert.Equal(t, []string{Name, "DefaultBinder"}, binders, "profile %s: DefaultBinder binds without a look", name)
	}
}
