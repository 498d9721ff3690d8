//! What the proof kinds have in common: upstream's `CompoundProof` over one shape of tree.

use std::borrow::Cow;
use std::marker::PhantomData;

use bellpepper_core::Circuit;
use bellperson::groth16 as upstream;
use blstrs::{Bls12, Scalar as Fr};
use cuzk_field::Engine;
use cuzk_groth16::{Blinding, Observer, Proof, VerifyingKey};
use cuzk_r1cs::{
    BlockStart, PackedWitness, Sink, SynthesisError, Template, Walkable, walk_blocks, walk_witness,
};
use storage_proofs_core::compound_proof::{self, CircuitComponent, CompoundProof};
use storage_proofs_core::multi_proof::MultiProof;
use storage_proofs_core::parameter_cache::ParameterSetMetadata;
use storage_proofs_core::proof::ProofScheme;

use crate::Error;
use crate::direct::Sheet;
use crate::reference::{self, ReferenceParameters, ReferenceProof};

/// A circuit of any type, to be walked once.
pub(crate) struct AnyCircuit<'a>(Box<Walk<'a>>);

type Walk<'a> = dyn FnOnce(&mut dyn Sink) -> Result<usize, SynthesisError> + 'a;

impl<'a> AnyCircuit<'a> {
    pub(crate) fn new(circuit: impl Circuit<Fr> + 'a) -> Self {
        AnyCircuit(Box::new(|sink| circuit.walk_into(sink)))
    }
}

impl Walkable for AnyCircuit<'_> {
    fn walk_into(self, sink: &mut dyn Sink) -> Result<usize, SynthesisError> {
        self.0(sink)
    }
}

/// How many of its repeated blocks a blank circuit has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Blocks {
    /// Two, where the circuit repeats under one shift.
    Two,
    /// As many as the circuit that is proved.
    All,
}

/// Upstream's circuit without values, and how it repeats.
pub(crate) struct Blank {
    pub(crate) circuit: AnyCircuit<'static>,
    pub(crate) start: BlockStart,
    /// The number of blocks of the circuit that is proved.
    pub(crate) instances: usize,
}

/// A statement whose circuits can be built, walked, proved by the reference and verified.
pub(crate) trait Provable: Sync {
    /// The circuit of a partition with its values.
    fn circuit(&self, partition: usize) -> Result<AnyCircuit<'_>, Error>;

    /// Walks a partition for its witness, blocks in parallel where upstream can build them one by one.
    fn witness(&self, partition: usize, template: &Template) -> Result<PackedWitness, Error>;

    /// Writes a partition's witness without a walk, eight-wide by `engine`, over the scalars of an earlier one.
    fn write_witness(
        &self,
        partition: usize,
        template: &Template,
        engine: Option<Engine>,
        spare: Vec<Fr>,
    ) -> Result<PackedWitness, Error>;

    /// Proves a partition through unmodified bellperson.
    fn prove_by_reference(
        &self,
        partition: usize,
        parameters: &ReferenceParameters,
        blinding: &Blinding,
    ) -> Result<ReferenceProof, Error>;

    /// Proves a partition over upstream's public pieces and reports the digest of each step.
    fn digests_by_reference(
        &self,
        partition: usize,
        parameters: &ReferenceParameters,
        blinding: &Blinding,
        observer: &dyn Observer,
    ) -> Result<Proof, Error>;

    /// The public inputs of a partition's circuit, without ONE.
    fn public_inputs(&self, partition: usize) -> Result<Vec<Fr>, Error>;

    /// Upstream's verification of all partitions' proofs.
    fn verify(&self, key: &VerifyingKey, proof: &[u8]) -> Result<(), Error>;

    /// Upstream's verification of one partition's proof of 192 bytes.
    fn verify_partition(&self, key: &VerifyingKey, partition: usize, proof: &[u8]) -> Result<(), Error>;
}

/// A [`Provable`] over upstream's proof scheme `S`, its circuit `C` and the type `P` that joins them.
pub(crate) struct Compound<'v, S: ProofScheme<'static>, C, P>
where
    S::Proof: Clone,
{
    pub(crate) params: compound_proof::PublicParams<'static, S>,
    pub(crate) inputs: S::PublicInputs,
    pub(crate) requirements: S::Requirements,
    /// One vanilla proof a partition.
    pub(crate) vanilla: Cow<'v, [S::Proof]>,
    /// The circuit of the header and one block of a partition; `None` where upstream builds whole partitions only.
    pub(crate) block: Option<BlockOf<'v, S, C, P>>,
    /// Writes a partition's witness.
    pub(crate) writer: WriterOf<'v, S, C, P>,
    pub(crate) circuit: PhantomData<fn() -> (C, P)>,
}

type BlockOf<'v, S, C, P> = fn(&Compound<'v, S, C, P>, partition: usize, block: usize) -> Result<C, Error>;

type WriterOf<'v, S, C, P> =
    fn(&Compound<'v, S, C, P>, partition: usize, Sheet<'_>) -> Result<PackedWitness, Error>;

/// Upstream's parameters of a scheme with a number of partitions.
pub(crate) fn public_params<S, C, P>(
    vanilla_params: S::SetupParams,
    partitions: Option<usize>,
) -> Result<compound_proof::PublicParams<'static, S>, Error>
where
    S: ProofScheme<'static>,
    C: Circuit<Fr> + CircuitComponent + Send,
    P: CompoundProof<'static, S, C>,
    S::Proof: Sync + Send,
    S::PublicParams: ParameterSetMetadata + Sync + Send,
    S::PublicInputs: Clone + Sync,
{
    P::setup(&compound_proof::SetupParams { vanilla_params, partitions, priority: false })
        .map_err(Error::upstream("setting up the circuit"))
}

impl<S, C, P> Compound<'_, S, C, P>
where
    S: ProofScheme<'static>,
    C: Circuit<Fr> + CircuitComponent + Send,
    P: CompoundProof<'static, S, C>,
    S::Proof: Clone + Sync + Send,
    S::PublicParams: ParameterSetMetadata + Sync + Send,
    S::PublicInputs: Clone + Sync,
{
    fn of_partition(&self, partition: usize) -> Result<C, Error> {
        Self::build(&self.params.vanilla_params, &self.inputs, &self.vanilla[partition], partition)
    }

    /// Upstream's circuit of what is opened in a partition.
    pub(crate) fn build(
        params: &S::PublicParams,
        inputs: &S::PublicInputs,
        vanilla: &S::Proof,
        partition: usize,
    ) -> Result<C, Error> {
        P::circuit(inputs, C::ComponentPrivateInputs::default(), vanilla, params, Some(partition))
            .map_err(Error::upstream("building the circuit"))
    }
}

impl<S, C, P> Provable for Compound<'_, S, C, P>
where
    S: ProofScheme<'static>,
    S::Requirements: Sync,
    C: Circuit<Fr> + CircuitComponent + Send,
    P: CompoundProof<'static, S, C>,
    S::Proof: Clone + Sync + Send,
    S::PublicParams: ParameterSetMetadata + Sync + Send,
    S::PublicInputs: Clone + Sync,
{
    fn circuit(&self, partition: usize) -> Result<AnyCircuit<'_>, Error> {
        Ok(AnyCircuit::new(self.of_partition(partition)?))
    }

    fn witness(&self, partition: usize, template: &Template) -> Result<PackedWitness, Error> {
        match self.block {
            Some(block_of) => walk_blocks(template, |block| block_of(self, partition, block)),
            None => Ok(walk_witness(template, self.of_partition(partition)?)?),
        }
    }

    fn write_witness(
        &self,
        partition: usize,
        template: &Template,
        engine: Option<Engine>,
        spare: Vec<Fr>,
    ) -> Result<PackedWitness, Error> {
        let inputs = std::iter::once(Fr::from(1)).chain(self.public_inputs(partition)?);
        // Fewer where the template stands for the first blocks alone.
        let inputs = inputs.take(template.n_inputs()).collect();
        (self.writer)(self, partition, Sheet { template, inputs, engine, spare })
    }

    fn prove_by_reference(
        &self,
        partition: usize,
        parameters: &ReferenceParameters,
        blinding: &Blinding,
    ) -> Result<ReferenceProof, Error> {
        reference::prove(self.of_partition(partition)?, parameters, blinding)
    }

    fn digests_by_reference(
        &self,
        partition: usize,
        parameters: &ReferenceParameters,
        blinding: &Blinding,
        observer: &dyn Observer,
    ) -> Result<Proof, Error> {
        reference::prove_in_steps(self.of_partition(partition)?, parameters, blinding, observer)
    }

    fn public_inputs(&self, partition: usize) -> Result<Vec<Fr>, Error> {
        P::generate_public_inputs(&self.inputs, &self.params.vanilla_params, Some(partition))
            .map_err(Error::upstream("computing the public inputs"))
    }

    fn verify(&self, key: &VerifyingKey, proof: &[u8]) -> Result<(), Error> {
        let key = prepared(key)?;
        let invalid = |reason: String| Error::ProofInvalid { reason };
        let proofs = MultiProof::new_from_bytes(self.params.partitions, proof, &key)
            .map_err(|error| invalid(format!("it is not made of points: {error:#}")))?;
        let verified = P::verify(&self.params, &self.inputs, &proofs, &self.requirements)
            .map_err(|error| invalid(format!("{error:#}")))?;
        if verified { Ok(()) } else { Err(invalid("upstream's verifier says so".to_owned())) }
    }

    fn verify_partition(&self, key: &VerifyingKey, partition: usize, proof: &[u8]) -> Result<(), Error> {
        let invalid =
            |reason: String| Error::ProofInvalid { reason: format!("partition {partition}: {reason}") };
        let inputs = self.public_inputs(partition)?;
        let proof = upstream::Proof::<Bls12>::read(proof)
            .map_err(|error| invalid(format!("it is not made of points: {error}")))?;
        let verified = upstream::verify_proof(&prepared(key)?, &proof, &inputs)
            .map_err(|error| invalid(error.to_string()))?;
        if verified { Ok(()) } else { Err(invalid("upstream's verifier says so".to_owned())) }
    }
}

/// Upstream's form of a verifying key.
pub(crate) fn prepared(key: &VerifyingKey) -> Result<upstream::PreparedVerifyingKey<Bls12>, Error> {
    let key = upstream::VerifyingKey::<Bls12>::read(&key.to_bytes()[..])
        .map_err(|error| Error::Upstream { doing: "reading the verifying key", source: error.into() })?;
    Ok(upstream::prepare_verifying_key(&key))
}
