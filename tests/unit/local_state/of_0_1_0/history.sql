PRAGMA application_id = 1734570088;
PRAGMA user_version = 2;
BEGIN TRANSACTION;
CREATE TABLE acknowledgements (
  subject_key TEXT NOT NULL, finding TEXT NOT NULL, made REAL NOT NULL, until REAL, note TEXT NOT NULL,
  who TEXT NOT NULL, is_bad INTEGER NOT NULL, gpus INTEGER NOT NULL, cause TEXT NOT NULL,
  PRIMARY KEY (subject_key, finding)) WITHOUT ROWID;
INSERT INTO "acknowledgements" VALUES('job/team-a/llm','job-waits',1790000000.0,NULL,'vendor comes','ann',0,16,'no-room');
CREATE TABLE growths (pool TEXT NOT NULL, asked REAL NOT NULL, machine TEXT NOT NULL, nodes INTEGER NOT NULL, stages TEXT NOT NULL, PRIMARY KEY (pool, asked)) WITHOUT ROWID;
INSERT INTO "growths" VALUES('karpenter/gpu',1790000000.0,'p5',2,'[["ready",300.0]]');
CREATE TABLE nodes (name TEXT PRIMARY KEY, seen REAL NOT NULL) WITHOUT ROWID;
INSERT INTO "nodes" VALUES('n1',1790000000.0);
INSERT INTO "nodes" VALUES('n2',1790000000.0);
CREATE TABLE pool_samples (pool TEXT NOT NULL, slot INTEGER NOT NULL, at REAL NOT NULL, nodes INTEGER, gpus INTEGER, demand INTEGER, allocated INTEGER, PRIMARY KEY (pool, slot)) WITHOUT ROWID;
INSERT INTO "pool_samples" VALUES('karpenter/gpu',14916666,1790000000.0,2,16,8,8);
CREATE TABLE problems (
  subject_key TEXT NOT NULL, finding TEXT NOT NULL, first REAL NOT NULL, last REAL NOT NULL, resolved REAL,
  subject TEXT NOT NULL, sentence TEXT NOT NULL, PRIMARY KEY (subject_key, finding)) WITHOUT ROWID;
INSERT INTO "problems" VALUES('job/team-a/llm','job-waits',1789990000.0,1790000000.0,NULL,'job team-a/llm','needs 16 GPUs');
CREATE TABLE reclaims (pool TEXT NOT NULL, what TEXT NOT NULL, at REAL NOT NULL, gpu_hours REAL, PRIMARY KEY (pool, what, at)) WITHOUT ROWID;
INSERT INTO "reclaims" VALUES('karpenter/gpu','node n1',1790000000.0,3.5);
CREATE TABLE runs (
  uid TEXT PRIMARY KEY, shape TEXT NOT NULL, members INTEGER NOT NULL, gpus INTEGER NOT NULL,
  submitted REAL NOT NULL, started REAL, ran REAL) WITHOUT ROWID;
INSERT INTO "runs" VALUES('u-7','team-a/llm/8',2,8,1789990000.0,1789991000.0,3600.0);
CREATE TABLE samples (
  minute INTEGER PRIMARY KEY, at REAL NOT NULL, wanted INTEGER, allocated INTEGER, free INTEGER,
  queued INTEGER);
INSERT INTO "samples" VALUES(29833333,1790000000.0,16,8,NULL,3);
CREATE TABLE sessions (id INTEGER PRIMARY KEY, started REAL NOT NULL, alive REAL NOT NULL);
INSERT INTO "sessions" VALUES(1,1790000000.0,1790000000.0);
CREATE TABLE trainings (uid TEXT PRIMARY KEY, at REAL NOT NULL, record TEXT NOT NULL);
INSERT INTO "trainings" VALUES('u-7',1790000000.0,'{"loss": 1.5}');
COMMIT;
