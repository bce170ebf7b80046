"""Plain manifests: which commit is blamed, and that no other one is."""

from pathlib import Path

import pytest

from tests.support.suspect_story import Story, config_map, job, run

TRAIN = "loader:\n  num_workers: 8\n  prefetch_factor: 4\nprecision: bf16\nseed: 1\nlog_interval: 100\n"


@pytest.fixture
def story(tmp_path: Path) -> Story:
    made = Story(tmp_path)
    made.commit("Good", {"apps/gpt/job.yaml": job(), "apps/gpt/config.yaml": config_map(TRAIN), "README.md": "# gpt\n"})
    return made


PATH = ("--path", "apps/gpt")


def test_the_one_commit_that_takes_the_workers_is_chosen(story: Story) -> None:
    story.replace("Another seed", "apps/gpt/config.yaml", "seed: 1", "seed: 2")
    story.replace("Fewer workers", "apps/gpt/config.yaml", "num_workers: 8", "num_workers: 0")
    story.commit("Docs", {"README.md": "# gpt, better\n"})
    told = story.ask("DataLoaderWorkers", *PATH)
    assert told.chosen == "Fewer workers"
    assert told.verdict("Docs") == "innocent"
    assert told.verdict("Another seed") == "unknown"
    assert told.changed()['ConfigMap/gpt-config data["train.yaml"].loader.num_workers'] == (8, 0)
    assert told.json["renderer"]["name"] == "plain"


@pytest.mark.parametrize(("where", "named"), [("work", "."), (".", "work"), ("work/apps", "..")])
def test_a_clone_is_named_as_seen_from_the_folder_that_its_reader_is_in(
    story: Story, monkeypatch: pytest.MonkeyPatch, where: str, named: str
) -> None:
    story.replace("Fewer workers", "apps/gpt/config.yaml", "num_workers: 8", "num_workers: 0")
    monkeypatch.chdir(story.repo.parent / where.replace("work", story.repo.name))
    clone, good = named.replace("work", story.repo.name), story.shas["Good"]
    answer = run(["suspects", "--repo", clone, "--good", good, "--bad", "HEAD", "--workload", "Job/gpt",
                  "--cause", "DataLoaderWorkers", "-o", "json", *PATH])  # fmt: skip
    assert answer["chosen"] == story.shas["Fewer workers"]


def test_a_script_that_changed_beside_a_key_hides_nothing_of_the_keys_file(story: Story) -> None:
    both = config_map(TRAIN) + "  a.sh: |\n    set -e\n    echo one\n"
    story.commit("Script", {"apps/gpt/config.yaml": both})
    both = both.replace("num_workers: 8", "num_workers: 0").replace("    echo one\n", "    echo two\n    date\n")
    story.commit("Both", {"apps/gpt/config.yaml": both})
    rows = story.ask("DataLoaderWorkers", *PATH).suspect("Both")["text"]
    assert [(row["key"], row["before"], row["after"]) for row in rows] == [
        ("", None, None),
        ("data.train.yaml: loader.num_workers", 8, 0),
    ]


def test_comments_and_layout_are_innocent(story: Story) -> None:
    story.replace("Comment", "apps/gpt/config.yaml", "  train.yaml: |\n", "  train.yaml: |\n    # why\n")
    story.replace("Quotes", "apps/gpt/job.yaml", "backoffLimit: 2", "backoffLimit:   2  # tries")
    told = story.ask("DataLoaderWorkers", *PATH)
    assert told.chosen is None
    assert {told.verdict("Comment"), told.verdict("Quotes")} == {"innocent"}
    assert "None of 2 commits" in told.because


def test_a_file_that_moves_is_innocent(story: Story) -> None:
    story.move("Move", "apps/gpt/config.yaml", "apps/gpt/settings.yaml")
    told = story.ask("DataLoaderWorkers", *PATH)
    assert told.verdict("Move") == "innocent"
    assert told.json["rendered"]["changed"] == []


def test_a_configmap_that_only_bears_another_name_is_innocent(story: Story) -> None:
    story.commit("Rename", {
        "apps/gpt/job.yaml": job(config="gpt-settings"), "apps/gpt/config.yaml": config_map(TRAIN, "gpt-settings")
    })  # fmt: skip
    assert story.ask("DataLoaderWorkers", *PATH).verdict("Rename") == "innocent"


def test_workers_lost_in_the_commit_that_renames_are_found(story: Story) -> None:
    story.commit("Rename", {
        "apps/gpt/job.yaml": job(config="gpt-settings"),
        "apps/gpt/config.yaml": config_map(TRAIN.replace("num_workers: 8", "num_workers: 1"), "gpt-settings"),
    })  # fmt: skip
    assert story.ask("DataLoaderWorkers", *PATH).chosen == "Rename"


def test_a_job_whose_name_contains_ours_is_not_ours(story: Story) -> None:
    other = config_map(TRAIN, "gpt-eval-config")
    story.commit(
        "Eval", {"apps/gpt/eval.yaml": job("gpt-eval", config="gpt-eval-config"), "apps/gpt/eval-config.yaml": other}
    )
    story.replace("Eval workers", "apps/gpt/eval-config.yaml", "num_workers: 8", "num_workers: 0")
    told = story.ask("DataLoaderWorkers", *PATH)
    assert told.chosen is None
    assert told.verdict("Eval") == told.verdict("Eval workers") == "innocent"


def test_what_is_undone_in_the_window_is_not_blamed(story: Story) -> None:
    story.replace("Fewer workers", "apps/gpt/config.yaml", "num_workers: 8", "num_workers: 0")
    story.replace("More workers", "apps/gpt/config.yaml", "num_workers: 0", "num_workers: 8")
    told = story.ask("DataLoaderWorkers", *PATH)
    assert told.chosen is None
    assert told.verdict("Fewer workers") != "suspected"


def test_of_several_commits_on_a_key_the_one_after_the_known_good_value_is_blamed(story: Story) -> None:
    story.replace("Try", "apps/gpt/config.yaml", "num_workers: 8", "num_workers: 4")
    story.replace("Back", "apps/gpt/config.yaml", "num_workers: 4", "num_workers: 8")
    story.replace("Again", "apps/gpt/config.yaml", "num_workers: 8", "num_workers: 0")
    assert story.ask("DataLoaderWorkers", *PATH).chosen == "Again"


def test_two_commits_that_both_take_workers_are_alike(story: Story) -> None:
    story.replace("Half", "apps/gpt/config.yaml", "num_workers: 8", "num_workers: 4")
    story.replace("None", "apps/gpt/config.yaml", "num_workers: 4", "num_workers: 0")
    told = story.ask("DataLoaderWorkers", *PATH)
    assert told.chosen is None
    assert "2 commits" in told.because


def test_the_direction_that_saves_time_is_not_blamed(story: Story) -> None:
    story.replace("More workers", "apps/gpt/config.yaml", "num_workers: 8", "num_workers: 16")
    assert story.ask("DataLoaderWorkers", *PATH).chosen is None


def test_a_merge_is_compared_with_its_first_parent(story: Story) -> None:
    git = story.upstream.git
    git("checkout", "-q", "-b", "feature")
    story.replace("Side", "apps/gpt/config.yaml", "precision: bf16", "precision: fp32")
    git("checkout", "-q", "main")
    story.replace("Seed", "apps/gpt/config.yaml", "seed: 1", "seed: 2")
    git("merge", "-q", "--no-ff", "-m", "Merge feature", "-X", "theirs", "feature")
    story.shas["Merge feature"] = git("rev-parse", "HEAD")
    told = story.ask("PrecisionLost", *PATH)
    assert told.chosen == "Merge feature"
    assert told.json["window"]["commits"] == 2


def test_a_merge_whose_change_the_known_good_held_already_is_not_blamed(story: Story) -> None:
    git = story.upstream.git
    git("checkout", "-q", "-b", "feature")
    story.shas["Side good"] = story.replace("Side", "apps/gpt/config.yaml", "precision: bf16", "precision: fp32")
    git("checkout", "-q", "main")
    story.replace("Workers", "apps/gpt/config.yaml", "num_workers: 8", "num_workers: 1")
    git("merge", "-q", "--no-ff", "-m", "Merge feature", "feature")
    story.shas["Merge feature"] = git("rev-parse", "HEAD")
    told = story.ask("PrecisionLost", *PATH, good="Side good")
    assert told.chosen is None
    assert told.verdict("Merge feature") != "suspected"


def test_a_new_image_can_bring_about_a_precision_loss(story: Story) -> None:
    story.replace("New image", "apps/gpt/job.yaml", "gpt:v1", "gpt:v2")
    assert story.ask("PrecisionLost", *PATH).chosen == "New image"


def test_debug_output_of_nccl_is_not_a_slow_link_and_a_disabled_fabric_is(story: Story) -> None:
    env = '[{"name": "NCCL_DEBUG", "value": "INFO"}]'
    story.commit("Debug", {"apps/gpt/job.yaml": job(env=env)})
    more = '[{"name": "NCCL_DEBUG", "value": "INFO"}, {"name": "NCCL_IB_DISABLE", "value": "1"}]'
    story.commit("No fabric", {"apps/gpt/job.yaml": job(env=more)})
    told = story.ask("SlowLink", *PATH)
    assert told.chosen == "No fabric"
    assert told.changed()["Job/gpt spec.template.spec.containers[trainer].env[NCCL_IB_DISABLE].value"] == (None, "1")


def test_an_option_among_others_is_found_wherever_it_stands(story: Story) -> None:
    story.commit("Options", {"apps/gpt/job.yaml": job(args=["--overlap-grad-reduce", "--lr", "0.1"])})
    story.commit("More", {"apps/gpt/job.yaml": job(args=["--tag", "x", "--overlap-grad-reduce", "--lr", "0.1"])})
    story.commit("Fewer", {"apps/gpt/job.yaml": job(args=["--tag", "x", "--lr", "0.1"])})
    told = story.ask("LostOverlap", *PATH, good="Options")
    assert told.chosen == "Fewer"
    assert told.verdict("More") == "unknown"


def test_the_same_options_in_another_order_are_innocent(story: Story) -> None:
    story.commit("Options", {"apps/gpt/job.yaml": job(args=["--a=1", "--b", "2"])})
    story.commit("Sorted", {"apps/gpt/job.yaml": job(args=["--b=2", "--a", "1"])})
    assert story.ask("LostOverlap", *PATH, good="Options").verdict("Sorted") == "innocent"


def test_a_cpu_limit_that_falls_is_found(story: Story) -> None:
    story.commit("Limit", {"apps/gpt/job.yaml": job(resources='{"limits": {"nvidia.com/gpu": "8", "cpu": "2"}}')})
    assert story.ask("DataLoaderWorkers", *PATH).chosen == "Limit"


def test_a_quantity_in_another_spelling_is_innocent(story: Story) -> None:
    story.commit("Cores", {"apps/gpt/job.yaml": job(resources='{"limits": {"nvidia.com/gpu": 8, "cpu": "2"}}')})
    story.commit(
        "Millicores", {"apps/gpt/job.yaml": job(resources='{"limits": {"cpu": "2000m", "nvidia.com/gpu": "8"}}')}
    )
    assert story.ask("DataLoaderWorkers", *PATH, good="Cores").verdict("Millicores") == "innocent"


def test_a_limit_range_of_the_application_acts_on_its_pods(story: Story) -> None:
    head = "apiVersion: v1\nkind: LimitRange\nmetadata: {name: small}\n"
    text = f"{head}spec:\n  limits:\n    - {{type: Container, default: {{cpu: 500m}}}}\n"
    story.commit("Limits", {"apps/gpt/limits.yaml": text})
    assert story.ask("DataLoaderWorkers", *PATH).chosen == "Limits"


def test_a_cause_that_no_commit_makes_blames_nobody(story: Story) -> None:
    story.replace("Fewer workers", "apps/gpt/config.yaml", "num_workers: 8", "num_workers: 0")
    told = story.ask("Throttled", *PATH)
    assert told.chosen is None
    assert "not in a commit" in told.because


def test_labels_alone_are_not_suspected(story: Story) -> None:
    story.replace("Label", "apps/gpt/job.yaml", "labels: {app: gpt}", "labels: {app: gpt, team: ml}")
    told = story.ask("DataLoaderWorkers", *PATH)
    assert told.chosen is None
    assert told.verdict("Label") != "suspected"


def test_a_workload_that_is_not_rendered_is_said(story: Story) -> None:
    story.replace("Fewer workers", "apps/gpt/config.yaml", "num_workers: 8", "num_workers: 0")
    told = story.ask("DataLoaderWorkers", *PATH, workload="Job/bert")
    assert told.chosen is None
    assert "Job/bert is not among the 2 rendered objects (Job/gpt)" in told.because
    assert told.verdict("Fewer workers") == "unknown"


def test_a_revision_that_is_no_yaml_is_not_blamed_and_not_innocent(story: Story) -> None:
    broken = story.replace("Broken", "apps/gpt/config.yaml", "kind: ConfigMap", "kind: [ConfigMap")
    assert broken
    story.replace("Mended", "apps/gpt/config.yaml", "kind: [ConfigMap", "kind: ConfigMap")
    story.replace("Fewer workers", "apps/gpt/config.yaml", "num_workers: 8", "num_workers: 0")
    told = story.ask("DataLoaderWorkers", *PATH)
    assert told.chosen == "Fewer workers"
    assert told.verdict("Broken") == told.verdict("Mended") == "unknown"


def test_a_guilty_change_inside_what_cannot_be_read_blames_nobody(story: Story) -> None:
    story.replace("Broken", "apps/gpt/config.yaml", "kind: ConfigMap", "kind: [ConfigMap")
    story.commit("Mended", {"apps/gpt/config.yaml": config_map(TRAIN.replace("num_workers: 8", "num_workers: 0"))})
    told = story.ask("DataLoaderWorkers", *PATH)
    assert told.chosen is None
    assert "could not be compared" in told.because


def test_without_a_renderer_every_verdict_is_unknown(story: Story) -> None:
    story.replace("Fewer workers", "apps/gpt/config.yaml", "num_workers: 8", "num_workers: 0")
    story.commit("Docs", {"README.md": "x"})
    told = story.ask("DataLoaderWorkers", *PATH, "--renderer", "none")
    assert told.chosen is None
    assert {each["verdict"] for each in told.json["suspects"]} == {"unknown"}


def test_the_answer_is_the_same_byte_for_byte(story: Story) -> None:
    story.replace("Fewer workers", "apps/gpt/config.yaml", "num_workers: 8", "num_workers: 0")
    assert story.ask("DataLoaderWorkers", *PATH).json == story.ask("DataLoaderWorkers", *PATH).json


def test_values_of_secrets_are_keyed_hashes(story: Story) -> None:
    secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: store}\nstringData: {key: hunter%d}\n"
    env = '[{"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "store", "key": "key"}}}]'
    story.commit("Secret", {"apps/gpt/secret.yaml": secret % 1, "apps/gpt/job.yaml": job(env=env)})
    story.commit("Rotate", {"apps/gpt/secret.yaml": secret % 2})
    told = story.ask("SlowStorage", *PATH, good="Secret")
    assert "hunter" not in str(told.json)
    before, after = told.changed()["Secret/store data.key"]
    assert before.startswith("hmac-sha256:") and before != after


def test_a_file_of_the_configmap_that_the_command_does_not_name_is_not_blamed(story: Story) -> None:
    both = config_map(TRAIN) + "  eval.yaml: |\n    loader: {num_workers: 8}\n"
    story.commit("Eval", {"apps/gpt/config.yaml": both})
    story.replace("Eval workers", "apps/gpt/config.yaml", "{num_workers: 8}", "{num_workers: 0}")
    assert story.ask("DataLoaderWorkers", *PATH, good="Eval").chosen is None


def test_an_older_revision_that_is_deployed_blames_nobody(story: Story) -> None:
    story.replace("Fewer workers", "apps/gpt/config.yaml", "num_workers: 8", "num_workers: 0")
    told = story.ask("DataLoaderWorkers", *PATH, good="Fewer workers", bad="Good")
    assert told.chosen is None
    assert "does not descend" in told.because


def test_a_diagnosis_that_analyze_wrote_names_the_cause(story: Story, tmp_path: Path) -> None:
    story.replace("Fewer workers", "apps/gpt/config.yaml", "num_workers: 8", "num_workers: 0")
    account = tmp_path / "account.json"
    account.write_text(
        '{"schemaVersion": 1, "diagnosis": {"bottleneck": "InputStarved", "cause": "DataLoaderWorkers"}}'
    )
    assert story.ask(str(account), *PATH).chosen == "Fewer workers"


def test_a_manifest_names_the_workload(story: Story) -> None:
    story.replace("Fewer workers", "apps/gpt/config.yaml", "num_workers: 8", "num_workers: 0")
    told = story.ask("DataLoaderWorkers", *PATH, workload=str(story.repo / "apps/gpt/job.yaml"))
    assert told.chosen == "Fewer workers"


def test_an_inconclusive_diagnosis_blames_nobody(story: Story) -> None:
    story.replace("Fewer workers", "apps/gpt/config.yaml", "num_workers: 8", "num_workers: 0")
    assert story.ask("Inconclusive", *PATH).chosen is None


def test_a_key_of_another_bottleneck_is_not_blamed(story: Story) -> None:
    story.replace("Precision", "apps/gpt/config.yaml", "bf16", "fp32")
    assert story.ask("DataLoaderWorkers", *PATH).chosen is None


def test_the_cause_s_own_key_stands_out_among_those_that_can_bring_it_about_too(story: Story) -> None:
    story.replace("Prefetch", "apps/gpt/config.yaml", "prefetch_factor: 4", "prefetch_factor: 2")
    story.commit("Limit", {"apps/gpt/job.yaml": job(resources='{"limits": {"nvidia.com/gpu": "8", "cpu": "16"}}')})
    story.replace("Workers", "apps/gpt/config.yaml", "num_workers: 8", "num_workers: 2")
    assert story.ask("DataLoaderWorkers", *PATH).chosen == "Workers"


def test_a_configmap_that_is_not_rendered_any_more_is_not_blamed(story: Story) -> None:
    story.commit("Gone", {"apps/gpt/config.yaml": None})
    told = story.ask("DataLoaderWorkers", *PATH)
    assert told.chosen is None
    assert "ConfigMap/gpt-config is not among the rendered objects" in told.because


def test_a_job_that_gets_a_new_name_for_each_run_is_followed(story: Story) -> None:
    story.commit("Run 2", {"apps/gpt/job.yaml": job("gpt-v2")})
    story.replace("Workers", "apps/gpt/config.yaml", "num_workers: 8", "num_workers: 2")
    told = story.ask("DataLoaderWorkers", *PATH, workload="Job/gpt-v2")
    assert told.chosen == "Workers"


def test_a_namespace_that_is_written_down_is_no_new_object(story: Story) -> None:
    story.commit("Namespace", {
        "apps/gpt/job.yaml": job().replace("  name: gpt\n", "  name: gpt\n  namespace: ml\n", 1),
        "apps/gpt/config.yaml": config_map(TRAIN).replace("name: gpt-config", "name: gpt-config\n  namespace: ml"),
    })  # fmt: skip
    assert story.ask("DataLoaderWorkers", *PATH).verdict("Namespace") == "innocent"


def test_a_revert_of_a_revert_is_named_and_left_to_a_person(story: Story) -> None:
    story.replace("Workers", "apps/gpt/config.yaml", "num_workers: 8", "num_workers: 2")
    for subject in ("Back", "Again"):
        story.upstream.git("revert", "--no-edit", "HEAD")
        story.shas[subject] = story.upstream.git("rev-parse", "HEAD")
    told = story.ask("DataLoaderWorkers", *PATH)
    assert told.chosen == "Again"
    assert told.json["proposal"] is None
    assert "itself a rollback" in told.because


def test_a_slow_store_is_not_blamed_on_a_new_image(story: Story) -> None:
    story.replace("New image", "apps/gpt/job.yaml", "gpt:v1", "gpt:v2")
    assert story.ask("SlowStorage", *PATH).chosen is None
